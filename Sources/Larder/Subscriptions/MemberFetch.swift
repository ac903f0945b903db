import DiskCache
import HTTPTypes
import Origin
import Primitives
import Subscriptions

/// Asks an origin for a member of a subscription, with the validators of the held copy, and brings a new body into the
/// stage of the next generation.
///
/// The origin client calls the fetch in sequence, on a thread of the client. `then` is called once, last.
final class MemberFetch: OriginReceiver {
    struct Result: Sendable {
        var answer: MemberAnswer
        /// The member of the next generation, for an answer that is ``MemberAnswer/confirmed(least:)`` or
        /// ``MemberAnswer/staged(isChanged:least:)``; otherwise `nil`.
        var member: GenerationMember?
        /// `nil`: no host wants a pause.
        var hostWish: HostWish?

        /// The answer for the machine. The confirmed entry of a member without a copy, such as an entry of another
        /// subscription, is a new copy of this one.
        func answer(forCopy hasCopy: Bool) -> MemberAnswer {
            if case .confirmed(let least) = answer, !hasCopy { return .staged(isChanged: false, least: least) }
            return answer
        }
    }

    /// The parts that all fetches of one subscription share.
    struct Order: Sendable {
        let stage: GenerationStage
        let stagedBytes: StagedBytes
        let tools: FetchTools
        let fields: HTTPFields
        /// The most bytes of a body.
        let entryLimit: Int64
        /// The time for which the copy stays fresh.
        let ttl: Duration
        let tags: [String]
        let transfer: PendingTransfer
    }

    private struct State {
        var head: OriginHead?
        var reservation: Reservation?
        var bytes: StagedBytes.Part?
        /// The error of the cache that broke the transfer off.
        var cacheError: DiskCacheError?
    }

    /// The status of an answer that brings no body to hold. Its body is not received.
    private struct Refused: Error {}

    private let item: WantedItem
    private let order: Order
    /// The copy that readers have now; `nil` without one.
    private let held: Entry?
    /// Begun before the copy was looked up, so that purges from then on prevail.
    private let begun: GenerationMember
    private let startDate: Timestamp
    private let then: @Sendable (Result) -> Void
    private let state = Locked(State())

    private init(
        _ item: WantedItem, _ order: Order, _ begun: GenerationMember, held: Entry?,
        then: @escaping @Sendable (Result) -> Void
    ) {
        self.item = item
        self.begun = begun
        self.order = order
        self.held = held
        self.then = then
        startDate = order.tools.clock.now()
    }

    /// Looks the held copy up, and asks the origin. `then` may be called on any thread, and must not block.
    static func start(_ item: WantedItem, _ order: Order, then: @escaping @Sendable (Result) -> Void) {
        let begun = GenerationMember(item, in: order.stage, tags: order.tags)
        // A copy with a damaged body counts as absent, so that it is fetched again as a whole.
        order.tools.cache.find(item.key, expectingURL: item.url) { found in
            let stored = (try? found.get()) ?? nil
            MemberFetch(item, order, begun, held: stored?.entry, then: then).begin()
        }
    }

    private func begin() {
        guard let url = try? CanonicalURL(item.requestURL) else {
            return then(Result(answer: .refused(reason: "the URL is not valid")))
        }
        var request = OriginRequest(url: url.requestURL)
        request.fields = order.fields
        for field in held?.validators.conditionalFields ?? [:] { request.fields.append(field) }
        request.sizeLimit = order.entryLimit
        request.addressPolicy = order.tools.options.addressPolicy
        order.transfer.begin(request, with: order.tools.origin, receiver: self)
    }

    func originWillBeAsked(_ origin: String) throws {
        try order.tools.checkPause(of: origin)
    }

    func originDidAnswer(_ head: OriginHead) throws {
        state.withLock { $0.head = head }
        guard (200..<300).contains(head.status), head.status != 206, !head.authenticatesConnection else {
            throw Refused()
        }
        let reservation = order.stage.reserveBody()
        let bytes = StagedBytes.Part(of: order.stagedBytes, length: head.declaredLength)
        state.withLock { ($0.reservation, $0.bytes) = (reservation, bytes) }
        guard let length = head.declaredLength else { return }
        try keeping { () throws(DiskCacheError) in try reservation.expect(length: length) }
    }

    func originDidSend(_ bytes: UnsafeRawBufferPointer) throws {
        order.tools.metrics.receivedBytes.increment(by: bytes.count)
        guard case (let reservation?, let part) = state.withLock({ ($0.reservation, $0.bytes) }) else { return }
        part?.add(bytes.count)
        try keeping { () throws(DiskCacheError) in try reservation.receive(bytes) }
    }

    private func keeping(_ step: () throws(DiskCacheError) -> Void) throws {
        do throws(DiskCacheError) {
            try step()
        } catch {
            state.withLock { $0.cacheError = error }
            throw error
        }
    }

    func originDidFinish(_ result: Swift.Result<OriginSummary, OriginError>) {
        let (head, reservation, cacheError) = state.withLock { ($0.head, $0.reservation, $0.cacheError) }
        switch result {
        case .success(let summary):
            guard let head, let reservation else { return judge(head) }
            // RFC 9112 §6.3: an empty body that ends with the connection comes from a server that died.
            guard summary.byteCount > 0 || summary.framing.isFramed else {
                reservation.abandon()
                return fail("the origin closed the connection without sending a body")
            }
            store(head, reservation)
        case .failure(let error):
            reservation?.abandon()
            if let cacheError { return fail(cacheError) }
            if case .receiver(_ as Refused) = error.kind { return judge(head) }
            fail(error)
        }
    }

    // MARK: - The answer

    /// Judges an answer without a body to hold.
    private func judge(_ head: OriginHead?) {
        guard let head else { return fail("the origin sent no answer") }
        let now = order.tools.clock.now()
        if head.status == 304, let held { return confirm(held, head, now) }
        if (200..<300).contains(head.status), head.authenticatesConnection {
            return then(Result(answer: .refused(reason: DownloadError.connectionAuthentication.description)))
        }
        order.tools.notePause(head)
        then(Result(AnswerWithoutBody(head, at: now)))
    }

    private func confirm(_ held: Entry, _ head: OriginHead, _ now: Timestamp) {
        guard var refresh = EntryMetadata(of: head, confirming: held, now: now, lifetime: { _ in order.ttl }) else {
            // The next request of this fetch has no validators.
            return MemberFetch(item, order, begun, held: nil, then: then).begin()
        }
        (refresh.downloadStartDate, refresh.downloadEndDate) = (startDate, now)
        refresh.tags = order.tags
        let answer = MemberAnswer.confirmed(least: SourceReading.lifetime(head.fields, at: now))
        then(Result(answer: answer, member: member(.kept(refresh))))
    }

    private func store(_ head: OriginHead, _ reservation: Reservation) {
        let now = order.tools.clock.now()
        var metadata = EntryMetadata(of: head, isAsSent: false, ttl: order.ttl)
        (metadata.downloadStartDate, metadata.downloadEndDate) = (startDate, now)
        metadata.tags = order.tags
        reservation.publish(EntryMetadata(ttl: .zero)) { [self, metadata] stored in
            switch stored {
            case .failure(let error): fail(error)
            case .success(let outcome):
                state.withLock { $0.bytes }?.keep()
                let digest = outcome.entry.digest
                let answer = MemberAnswer.staged(
                    isChanged: held?.digest != digest, least: SourceReading.lifetime(head.fields, at: now))
                then(Result(answer: answer, member: member(.staged(digest: digest, metadata))))
            }
        }
    }

    private func member(_ body: GenerationMember.Body) -> GenerationMember {
        var member = begun
        (member.body, member.replacing) = (body, held?.version)
        return member
    }

    // MARK: - Failures

    private func fail(_ words: String) { then(Result(answer: .failed(reason: words, pause: nil))) }

    private func fail(_ error: DiskCacheError) {
        switch error {
        case .noSpace:
            let isAlone = state.withLock { $0.bytes }?.lacksRoomAlone(couldHold: order.stage.couldHold) ?? true
            then(Result(answer: isAlone ? .noRoomAlone(reason: DownloadError(error).description) : .noRoom))
        case .entryTooLarge, .emptyBody: then(Result(answer: .refused(reason: DownloadError(error).description)))
        default: fail(DownloadError(error).description)
        }
    }

    private func fail(_ error: OriginError) {
        let cause = DownloadError(error)
        let words = cause.description
        // Another caller of the namespace has learned of the pause.
        if let wish = cause.hostWish(at: order.tools.clock.now()) {
            return then(Result(answer: .failed(reason: words, pause: wish.time), hostWish: wish))
        }
        switch error.kind {
        case .addressRefused, .schemeRefused, .urlInvalid, .requestInvalid, .redirectInvalid, .tooLarge:
            then(Result(answer: .refused(reason: words)))
        default: fail(words)
        }
    }
}

extension MemberFetch.Result {
    init(_ refusal: AnswerWithoutBody) {
        switch refusal.meaning {
        case .gone(let forever): self.init(answer: .gone(reason: refusal.reason, forever: forever))
        case .forbidden: self.init(answer: .forbidden(reason: refusal.reason))
        case .rejected: self.init(answer: .refused(reason: refusal.reason))
        case .failed:
            let pause = refusal.pause ?? refusal.hostWish?.time
            self.init(answer: .failed(reason: refusal.reason, pause: pause), hostWish: refusal.hostWish)
        }
    }
}

extension GenerationMember {
    /// A member that keeps its entry until it gets another body.
    init(_ item: WantedItem, in stage: GenerationStage, tags: [String] = []) {
        self = stage.member(CacheKey(item), url: item.url, tags: tags)
    }
}

extension CacheKey {
    /// The key of the entry that holds an item: a page, or a body.
    init(_ item: WantedItem) {
        let page = CacheKey.page(canonical: item.url)
        self = item.key == page.text ? page : .url(canonical: item.url)
    }
}
