import DiskCache
import Primitives
import Subscriptions

/// Captures a page that a subscription holds. A capture replaces the page at one instant by itself, before the switch
/// to the next generation, which only holds the page.
enum PageFetch {
    /// `then` is called once, on any thread, and must not block.
    static func start(
        _ item: WantedItem, _ order: MemberFetch.Order, in pages: PageManager,
        then: @escaping @Sendable (MemberFetch.Result) -> Void
    ) {
        guard let url = try? CanonicalURL(item.requestURL) else {
            return then(MemberFetch.Result(answer: .refused(reason: "the URL is not valid")))
        }
        let member = GenerationMember(item, in: order.stage, tags: order.tags)
        var request = PageRequest(url: url)
        request.ttl = order.ttl
        request.tags = Set(order.tags)
        request.fields = order.fields
        request.obeysPauses = true
        do throws(PageError) {
            try pages.capture(request) { status in then(result(of: status, member)) }
        } catch {
            then(MemberFetch.Result(answer: .failed(reason: error.description, pause: nil)))
        }
    }

    private static func result(of status: PageStatus, _ member: GenerationMember) -> MemberFetch.Result {
        switch status.state {
        case .complete, .partial: return MemberFetch.Result(answer: .confirmed(least: .zero), member: member)
        case .queued, .fetching, .failed, .cancelled: break
        }
        if let refusal = status.refusal { return MemberFetch.Result(refusal) }
        let reason = status.problem?.description ?? "the capture ended without a page"
        switch status.problem {
        case .document(.refused, _)?, .schemeRefused?, .noBrowser?:
            return MemberFetch.Result(answer: .refused(reason: reason))
        // A capture has its own room, and not that of the stage.
        case .cache(.noSpace)?: return MemberFetch.Result(answer: .noRoomAlone(reason: reason))
        default: return MemberFetch.Result(answer: .failed(reason: reason, pause: nil))
        }
    }
}
