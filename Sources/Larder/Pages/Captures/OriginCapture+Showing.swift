import Browser
import DiskCache
import HTTPTypes
import WebArchive

/// The side of a ``OriginCapture`` that a browser uses while it shows the page.
extension OriginCapture {
    /// Gets a URL for the browser, or waits for the running fetch of this URL. `fields` are those of the browser's
    /// request. `then` is called once, with `nil` when the capture has no response; it must not wait.
    func demand(
        _ url: WebURL, _ kind: Reference.Kind, _ fields: HTTPFields,
        then: @escaping @Sendable (Demanded?) -> Void
    ) {
        typealias Call = @Sendable () -> Void
        let (actions, answers) = state.withLock { state -> ([CaptureMachine.Action], [Call]) in
            let actions = state.machine.handle(.demanded(ArchivedDocument.Found(url: url, kind: kind)))
            guard state.machine.outcome == nil, let index = state.machine.index(of: url) else {
                return (actions, [{ then(nil) }])
            }
            if state.demandedFields[index] == nil { state.demandedFields[index] = fields }
            state.demands[index, default: []].append(then)
            return (actions, state.takeAnswers())
        }
        perform(actions)
        for answer in answers { answer() }
    }

    /// Ends the time in which a browser shows the page. `snapshot` is the text of its document in the end, and `url`
    /// the URL of this document; `nil` when there is none. `isWhole`: the page had ended its requests.
    func shown(_ snapshot: [UInt8]?, at url: WebURL?, isWhole: Bool) {
        Self.queue.async { [self] in
            let page = url.flatMap { url in state.withLock { $0.machine.index(of: url) } }
            guard let snapshot, let url else { return handle(.shown(page: page, found: [], isWhole: isWhole)) }
            let document = ArchivedDocument(snapshot, .html, contentType: "text/html; charset=utf-8", url: url)
            handle(.shown(page: page, found: document.found, isWhole: isWhole)) { state in
                state.title = document.title ?? state.title
            }
        }
    }

    /// Ends the capture, because the page cannot be shown.
    func showingFailed(_ reason: String) { handle(.showingFailed(.failed(reason))) }

    var hasEnded: Bool { state.withLock { $0.machine.outcome != nil } }

    /// Stores bytes as a resource of the page, and counts them as bytes of the capture. `nil` when there are none, when
    /// the capture has ended or ends by them, or when the cache cannot store them.
    func store(_ bytes: [UInt8]?) async -> PageManifest.Body? {
        guard let bytes else { return nil }
        received(bytes.count)
        guard !hasEnded else { return nil }
        let reservation = capture.reserveResource()
        guard (try? reservation.receive(bytes)) != nil else { return nil }
        return await withCheckedContinuation { continuation in
            reservation.publish(EntryMetadata(ttl: .zero)) { result in
                let digest = (try? result.get())?.entry.digest
                continuation.resume(
                    returning: digest.map { PageManifest.Body(digest: $0, length: Int64(bytes.count)) })
            }
        }
    }

    /// The response for the browser; `nil` when its body is gone. Waits for the disk.
    func response(_ answer: Demanded, withBody: Bool) -> BrowserResponse? {
        guard let stored = answer.record.answer else { return nil }
        var body: [UInt8] = []
        if withBody, let digest = stored.digest {
            guard case .hit(let held)? = try? tools.cache.resource(digest), let bytes = try? held.body.bytes() else {
                return nil
            }
            body = [UInt8](bytes)
        }
        var fields = stored.fields.map {
            (name: $0.name.rawName, value: $0.latin1.unicodeScalars.map { UInt8($0.value) })
        }
        fields += answer.cookies.map { (name: "Set-Cookie", value: Array($0.utf8)) }
        return BrowserResponse(status: stored.status, fields: fields, body: body)
    }
}
