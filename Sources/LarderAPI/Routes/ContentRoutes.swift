import HTTPCaching
import HTTPTypes
import Larder
import MicroHTTPD
import Primitives

/// `/entries/:key/content` and `/json`: the bodies of entries.
struct ContentRoutes: Sendable {
    let service: LarderService
    let ready: ReadyAnswers

    var routes: [Route] {
        [
            Route("GET", "/entries/:key/content", .read, .calling("getContent", getContent), isFenced: true),
            Route("PUT", "/entries/:key/content", .write, Endpoint(operation: "putContent", begin: putContent)),
            Route("GET", "/json", .read, .calling("getJSON", getJSON), isFenced: true),
            Route("PUT", "/json", .write, Endpoint(operation: "putJSON", begin: putJSON)),
        ]
    }

    private func getContent(_ head: Endpoint.Head, _ call: Call) throws(Problem) {
        let query = try head.query(["stale", "view"])
        let allowsStale = try query.bool("stale") ?? false
        let isRemote = try query.isRemote()
        let (key, options) = (head.parameter("key"), head.namespace.options)
        let wish = BodyWish(
            key: key, url: nil, allowsStale: allowsStale, isRemote: isRemote, seesSecrets: head.visitor.has(.send))
        let read: @Sendable () -> Void = {
            find(wish, in: head.namespace, call) { (stored, now) throws(Problem) in
                try ContentResponse(
                    stored.entry, allowsStale: allowsStale, caching: options.contentCaching, at: now
                ).response(stored.body, to: head.request)
            }
        }
        if isPending(wish, in: head.namespace) {
            return findPending(wish, in: head.namespace, call, else: read) { (pending) throws(Problem) in
                try PendingResponse(pending, at: service.clock.now()).response(to: head.request)
            }
        }
        guard head.request.query == nil, RequestField.isPlain(head.request) else { return read() }
        // If the cache knows the body's place in the slab, a single read suffices. Else the index must be read, too.
        head.entries.findPassing(key) { body in
            guard let body else { return read() }
            call.respond(PassingAnswers.response(body, options.contentCaching, at: service.clock.now()))
        }
    }

    private func getJSON(_ head: Endpoint.Head, _ call: Call) throws(Problem) {
        let query = try head.query(["url", "params", "stale", "view"])
        let allowsStale = try query.bool("stale") ?? false
        let isRemote = try query.isRemote()
        guard let (url, _) = try query.canonicalURL() else { throw .invalid("url is missing", pointer: "/url") }
        let key = CacheKey.url(canonical: url.string).text
        let options = head.namespace.options
        let wish = BodyWish(
            key: key, url: url.string, allowsStale: allowsStale, isRemote: isRemote,
            seesSecrets: head.visitor.has(.send))
        let read: @Sendable () -> Void = {
            find(wish, in: head.namespace, call) { (stored, now) throws(Problem) in
                let content = try ContentResponse(
                    stored.entry, allowsStale: allowsStale, caching: options.contentCaching, at: now)
                let skipped = try Self.beginningOfJSON(stored)
                return try content.response(
                    stored.body, skipping: skipped, to: head.request, type: "application/json")
            }
        }
        guard isPending(wish, in: head.namespace) else { return read() }
        findPending(wish, in: head.namespace, call, else: read) { (pending) throws(Problem) in
            try PendingResponse(pending, at: service.clock.now()).json(to: head.request)
        }
    }

    /// The number of bytes before the JSON text: RFC 8259 §8.1 forbids a byte order mark. Throws 406.
    static func beginningOfJSON(_ stored: StoredEntry) throws(Problem) -> Int {
        let beginning = try Problem.mapping(try stored.body.read(0..<min(stored.body.length, 4)))
        guard stored.entry.isJSON else {
            throw .notJSON(
                beginning.withUnsafeBytes { JSONEncoding($0).fault }
                    ?? JSONCharset(contentType: stored.entry.contentType).fault(isASCII: false))
        }
        let mark = JSONEncoding.byteOrderMark
        return beginning.withUnsafeBytes { $0.starts(with: mark) } ? mark.count : 0
    }

    /// A request for a body.
    private struct BodyWish: Sendable {
        let key: String
        /// The canonical URL from which the key was made; `nil`: the caller sent the key.
        let url: String?
        let allowsStale: Bool
        /// Whether the caller wants the body without the pending changes.
        let isRemote: Bool
        /// Whether the caller may see changes that are sent with a credential.
        let seesSecrets: Bool
    }

    private func isPending(_ wish: BodyWish, in namespace: Namespace) -> Bool {
        !wish.isRemote && service.outbox.isPending(wish.key, in: namespace.name)
    }

    /// Answers with the body of a key that has pending changes. `read` answers if the changes have ended by now.
    private func findPending(
        _ wish: BodyWish, in namespace: Namespace, _ call: Call, else read: @escaping @Sendable () -> Void,
        answer: @escaping @Sendable (PendingBody) throws(Problem) -> Response
    ) {
        service.outbox.pendingBody(
            of: wish.key, url: wish.url, in: namespace.name, seesSecrets: wish.seesSecrets
        ) { result in
            call.take(result, Problem.init) { pending in
                guard let pending else { return read() }
                let response = Result { () throws(Problem) in try answer(pending) }
                switch response {
                case .success: if let remote = pending.remote { namespace.entries.countHit(remote.entry) }
                case .failure(let problem): if problem.status == 404 { namespace.entries.countMiss() }
                }
                call.respond(response)
            }
        }
    }

    private func find(
        _ wish: BodyWish, in namespace: Namespace, _ call: Call,
        answer: @escaping @Sendable (StoredEntry, Timestamp) throws(Problem) -> Response
    ) {
        namespace.entries.find(wish.key, expectingURL: wish.url) { [self] found in
            let stored: StoredEntry
            switch found {
            case .success(let entry?): stored = entry
            case .success(nil):
                namespace.entries.countMiss()
                return call.respond(Problem.noEntry)
            case .failure(let error): return call.respond(Problem(error))
            }
            let result = Result { () throws(Problem) in try answer(stored, service.clock.now()) }
            switch result {
            case .success(let response):
                namespace.entries.countHit(stored.entry)
                // The mark is older than this look-up. So a later change drops the answer, and an earlier one is found.
                if let hot = stored.hot, response.status == 200, !isPending(wish, in: namespace) {
                    keep(response, of: stored, hot, namespace, allowsStale: wish.allowsStale, call, answer: answer)
                }
            case .failure(let problem) where problem.status == 404: namespace.entries.countMiss()
            // The request does not accept the entry (406, 412, 416), which counts neither as a hit nor as a miss.
            case .failure: break
            }
            call.respond(result)
        }
    }

    /// Keeps a ready answer while it is valid. An answer with `max-age` is made anew every second.
    private func keep(
        _ response: Response, of stored: StoredEntry, _ hot: HotEntry.Mark, _ namespace: Namespace, allowsStale: Bool,
        _ call: Call, answer: @escaping @Sendable (StoredEntry, Timestamp) throws(Problem) -> Response
    ) {
        let (entry, caching) = (stored.entry, namespace.options.contentCaching)
        // Its age is another one each second.
        guard !entry.isHeldStale(at: ready.now) else { return }
        let end = allowsStale ? Timestamp.distantFuture : entry.expiryDate
        guard caching == .untilExpiry, entry.isFresh(at: ready.now) else {
            return ready.keep(to: call, madeOf: hot, renews: false) { _ in (response, end) }
        }
        ready.keep(to: call, madeOf: hot, renews: true) { now in
            guard let response = try? answer(stored, now) else { return nil }
            return (response, caching.renewal(until: entry.expiryDate, at: now) ?? end)
        }
    }

    private func putContent(_ head: Endpoint.Head) throws(Problem) -> Endpoint.Plan {
        let query = try head.query(["ttl", "tags", "pinned"])
        let key: CacheKey
        do {
            key = try CacheKey.data(head.parameter("key"))
        } catch {
            throw .invalid(error.description, pointer: "/key")
        }
        var metadata = EntryMetadata(ttl: try query.ttl() ?? head.namespace.options.defaultTTL)
        let contentType = head.request.field("Content-Type") ?? "application/octet-stream"
        guard contentType.utf8.count <= 1024 else { throw .invalid("the Content-Type is longer than 1024 bytes") }
        metadata.contentType = contentType
        metadata.tags = try query.tags()?.sorted() ?? []
        metadata.pinned = try query.bool("pinned") ?? false
        let condition = head.condition(at: service.clock.now())
        return try Upload(to: head.entries.put(key, kind: .data, metadata, condition: condition)).plan(head, service)
    }

    private func putJSON(_ head: Endpoint.Head) throws(Problem) -> Endpoint.Plan {
        let query = try head.query(["url", "params", "ttl"])
        guard let (url, params) = try query.canonicalURL() else { throw .invalid("url is missing", pointer: "/url") }
        let type = head.request.field("Content-Type")
        // Accepts curl's default type for -d, too. The body is checked to be JSON in any case.
        try BodyDecoding.checkJSON(contentType: type)
        var metadata = EntryMetadata(ttl: try query.ttl() ?? head.namespace.options.defaultTTL)
        metadata.contentType = "application/json"
        metadata.params = params?.text
        let entry = head.entries.put(
            .url(canonical: url.string), kind: .json, url: url.string, metadata,
            condition: head.condition(at: service.clock.now()))
        return try Upload(to: entry, charset: JSONCharset(contentType: type)).plan(head, service)
    }
}

final class Upload: BodySink {
    private let entry: EntryUpload
    /// The declared charset of a JSON body. Unless it is UTF-8, bytes above 0x7F are refused.
    private let charset: JSONCharset

    init(to entry: EntryUpload, charset: JSONCharset = .utf8) {
        self.entry = entry
        self.charset = charset
    }

    func write(_ bytes: UnsafeRawBufferPointer) throws -> Backpressure {
        try BodyDecoding.check(charset, isASCII: bytes.allSatisfy { $0 < 0x80 })
        try entry.receive(bytes)
        return .room
    }

    func abandon() { entry.abandon() }

    func plan(_ head: Endpoint.Head, _ service: LarderService) throws(Problem) -> Endpoint.Plan {
        do throws(Problem) {
            return try checkedPlan(head, service)
        } catch {
            entry.abandon()
            throw error
        }
    }

    private func checkedPlan(_ head: Endpoint.Head, _ service: LarderService) throws(Problem) -> Endpoint.Plan {
        try Self.check(head.request)
        if let length = head.request.declaredLength { try Problem.mapping(try entry.expect(length: length)) }
        // RFC 9110 §13.2.1: conditions are checked after all other checks of the head, and before the body is read.
        try Problem.mapping(try entry.checkCondition())
        if entry.removes {
            return Endpoint.Plan(body: .none) { [entry] (call) throws(Problem) in
                entry.removeHeld { result in
                    call.take(result, Problem.init) { call.respondRemoved($0 ? 1 : 0, entry.key) }
                }
            }
        }
        return Endpoint.Plan(body: .sink(self)) { [self] (call) throws(Problem) in
            try publish(call, length: head.request.declaredLength, clock: service.clock)
        }
    }

    private static func check(_ request: Request) throws(Problem) {
        // RFC 9110 §14.5: a part must not be stored as the whole.
        guard request.field("Content-Range") == nil else {
            throw .invalid("Content-Range is not supported, because an entry stores a whole body; leave it out")
        }
        // RFC 9110 §8.4: readers of the entry would not learn that the body is encoded.
        if let coding = request.field("Content-Encoding"), coding.lowercased() != "identity" {
            throw Problem(
                415,
                "the Content-Encoding \"\(coding)\" is not supported, because bodies are stored as sent; send "
                    + "the body decoded")
        }
    }

    private func publish(_ call: Call, length: Int64?, clock: any WallClock) throws(Problem) {
        if case .failed(let error) = call.exchange.body {
            entry.abandon()
            if let error = error as? CacheError { throw Problem(error) }
            if let problem = error as? Problem { throw problem }
            throw .invalid("the body could not be read: \(error)")
        }
        entry.publish(length: length) { result in
            call.take(result, Problem.init) { entry in
                call.changed(entry.key)
                call.respond(.json(entry.json(at: clock.now())))
            }
        }
    }
}

extension Query {
    /// Whether the caller wants the body of the cache without the pending changes of the outbox. Throws 400.
    func isRemote() throws(Problem) -> Bool {
        try value("view", "local or remote") { text in
            switch text {
            case "local": false
            case "remote": true
            default: nil
            }
        } ?? false
    }
}

extension Problem {
    static func notJSON(_ fault: String?) -> Problem {
        Problem(
            406,
            "the entry's body is not JSON\(fault.map { ": \($0)" } ?? ""); GET /entries/{key}/content returns its bytes"
        )
    }
}
