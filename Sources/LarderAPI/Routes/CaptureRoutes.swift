import Dispatch
import HTTPTypes
import Larder
import MicroHTTPD
import Primitives

/// `/pages`: captures of web pages. ``ViewRoutes`` shows them.
struct CaptureRoutes: Sendable {
    private static let requestLimit = 24 << 20
    /// The longest time, in seconds, for which a request waits for the end of a capture.
    private static let waitLimit = 300
    private static let queue = DispatchQueue(label: "larder.pages.wait")
    /// Reads the manifests of pages, which may wait for the disk.
    private static let reading = DispatchQueue(label: "larder.pages.read", attributes: .concurrent)

    let clock: any WallClock

    var routes: [Route] {
        let entries = EntryRoutes(clock: clock, key: Self.key)
        return [
            Route("POST", "/pages", .download, .collecting("capturePage", limit: Self.requestLimit, capture)),
            Route("POST", "/pages/import", .download, Endpoint(operation: "importPage", begin: importPage)),
            Route("GET", "/pages", .read, .calling("listPages", list)),
            Route("GET", "/pages/:key", .read, .calling("getPage", get)),
            Route("PATCH", "/pages/:key", .write, entries.updating("updatePage")),
            Route("DELETE", "/pages/:key", .purge, .calling("removePage", checking: entries.checkKey, remove)),
        ]
    }

    /// The key of the page's entry. A client may leave out `-page`, so that the MD5 of the URL is enough. Throws 404 if
    /// no page can have the key, because `/pages` must not reach other entries.
    static func key(_ head: Endpoint.Head) throws(Problem) -> String {
        let text = head.parameter("key")
        guard let key = CacheKey(text) else { throw .noPage }
        switch key.form {
        case .page: return text
        case .url: return CacheKey.page(md5: text).text
        default: throw .noPage
        }
    }

    private func capture(_ head: Endpoint.Head, _ body: [UInt8], _ call: Call) throws(Problem) {
        _ = try head.query()
        try head.checkCondition(at: clock.now(), untagged: false)
        let request = try PageRequest(try BodyDecoding.json(body, contentType: head.request.field("Content-Type")))
        if request.pinned != nil { try head.visitor.check(.write) }
        let pages = head.namespace.pages
        let wait = Preferences(head.request).wait(limit: Self.waitLimit)
        let applied = HTTPFields(wait.map { [Preference.wait(seconds: $0).field] } ?? [])
        let key = request.key.text
        // The first of the capture's end and the timer takes the call, so that the other one does not keep it.
        let waiting = Locked<(call: Call, namespace: Namespace)?>((call, head.namespace))
        let finish: @Sendable (PageStatus) -> Void = { status in
            guard let (call, namespace) = waiting.withLock({ $0.take() }) else { return }
            if status.state == .failed || status.state == .cancelled, let error = status.problem {
                var problem = Problem(error)
                problem.fields.append(contentsOf: applied)
                return call.respond(problem)
            }
            respond(key, namespace, call, fields: applied)
        }
        do throws(PageError) {
            _ = try pages.capture(request, completion: wait == nil ? nil : finish)
        } catch {
            throw Problem(error)
        }
        call.changed(key)
        let accept: @Sendable () -> Void = {
            guard let (call, namespace) = waiting.withLock({ $0.take() }) else { return }
            var fields = applied
            fields[.location] = "\(namespace.pathPrefix)/pages/\(key)"
            respond(key, namespace, call, status: 202, fields: fields)
        }
        guard let wait else { return accept() }
        Self.queue.asyncAfter(deadline: .now() + .seconds(wait), execute: accept)
    }

    private func importPage(_ head: Endpoint.Head) throws(Problem) -> Endpoint.Plan {
        let query = try head.query(["url", "ttl", "tags", "pinned", "captures"])
        try head.checkCondition(at: clock.now(), untagged: false)
        let url = try query.canonicalURL()?.url
        let (ttl, tags, pinned) = (try query.ttl(), try query.tags() ?? [], try query.bool("pinned"))
        let captures = try query.captures()
        if pinned != nil { try head.visitor.check(.write) }
        let file: ArchiveFile
        do throws(PageError) {
            file = try head.namespace.pages.makeArchive(length: head.request.declaredLength)
        } catch {
            throw Problem(error)
        }
        let upload = ArchiveUpload(file, url: url, into: head.namespace) { page in
            var request = PageRequest(url: page)
            (request.archive, request.ttl, request.tags, request.pinned) = (file, ttl, Set(tags), pinned)
            request.capturesKept = captures ?? 1
            request.limits.resources = Self.importLimit
            request.limits.totalBytes = .max
            return request
        }
        return Endpoint.Plan(body: .sink(upload)) { (call) throws(Problem) in
            try upload.finish(call) { [self] status in
                if status.state == .failed || status.state == .cancelled, let problem = status.problem {
                    return call.respond(Problem(problem))
                }
                call.changed(status.key)
                respond(status.key, head.namespace, call)
            }
        }
    }

    /// The most responses of an imported archive.
    private static let importLimit = 10_000

    private func get(_ head: Endpoint.Head, _ call: Call) throws(Problem) {
        _ = try head.query()
        respond(try Self.key(head), head.namespace, call)
    }

    private func respond(
        _ key: String, _ namespace: Namespace, _ call: Call, status: Int = 200, fields: HTTPFields = [:]
    ) {
        // Read before the page: once a capture has ended, its page is stored.
        let lastCapture = namespace.pages.status(of: key)
        namespace.entries.find(key) { result in
            Self.reading.async {
                call.take(result, Problem.init) { stored in
                    guard let page = Self.page(key, stored, lastCapture) else { return call.respond(Problem.noPage) }
                    let bytes = page.manifest == nil ? nil : try? namespace.pages.bytes(of: key)
                    namespace.viewer.failures(of: key, limit: PageView.failureLimit) { failures in
                        var page = page
                        page.bytes = bytes
                        page.failures = (try? failures.get()) ?? []
                        call.respond(.json(page.json(at: clock.now()), status: status, fields: fields))
                    }
                }
            }
        }
    }

    /// `nil`: the cache has no such page, and no capture of it has run. `status` is older than `stored`.
    private static func page(_ key: String, _ stored: StoredEntry?, _ status: PageStatus?) -> PageView? {
        var page = PageView(key: key, status: status)
        // The page of a stored capture is gone, because it was removed or evicted.
        if let status, stored == nil, [.complete, .partial].contains(status.state) { page.status = nil }
        if let stored, let manifest = PageManifest(of: stored) {
            (page.entry, page.manifest) = (stored.entry, manifest)
        }
        return page.manifest == nil && page.status == nil ? nil : page
    }

    /// As the answer to `GET /pages/:key`, which lists the same pages. Waits for the disk.
    private static func page(_ key: String, in namespace: Namespace) -> PageView? {
        let status = namespace.pages.status(of: key)
        return page(key, namespace.pages.stored(key), status)
    }

    private func list(_ head: Endpoint.Head, _ call: Call) throws(Problem) {
        let query = try head.query(["tag", "state", "q", "limit", "cursor"])
        let tag = try query.nonEmpty("tag").map(Tags.spelling)
        let states = PageStatus.State.allCases.map(\.rawValue).joined(separator: ", ")
        let state = try query.value("state", "one of \(states)") { PageStatus.State(rawValue: $0) }
        let text = try query.nonEmpty("q")
        let (limit, cursor) = (try query.limit(), query["cursor"])
        let namespace = head.namespace
        try call.respondInTurn { () throws(Problem) in
            // Captures without a stored page are in no list of entries. They are read before the list, because a
            // capture that ends now stores its page.
            let isFirst = cursor == nil && tag == nil
            let unstored = isFirst ? namespace.pages.statuses.filter { namespace.pages.stored($0.key) == nil } : []
            let filter = EntryFilter(tag: tag, kind: .page)
            let listed = try Problem.mapping(
                try namespace.entries.list(filter, sort: .key, limit: limit, cursor: cursor))
            var pages: [PageView] = listed.entries.compactMap { entry in
                Processor.offer()
                return Self.page(entry.key, in: namespace)
            }
            let keys = Set(listed.entries.map(\.key))
            pages += unstored.lazy.filter { !keys.contains($0.key) }.compactMap { Self.page($0.key, in: namespace) }
            let found = pages.filter { page in
                (state == nil || page.state == state) && (text.map(page.contains) ?? true)
            }
            let now = clock.now()
            var object = JSONObjectWriter()
            object.add("pages", elements: found.lazy.map { $0.json(at: now) })
            if let cursor = listed.nextCursor { object.add("nextCursor", cursor) }
            return .json(consume object)
        }
    }

    private func remove(_ head: Endpoint.Head, _ call: Call) throws(Problem) {
        let key = try Self.key(head)
        let wasRunning = head.namespace.pages.cancel(key)
        head.entries.remove(key, condition: head.condition(at: clock.now())) { result in
            call.take(result, Problem.init) { count in
                if count == 0, !wasRunning { call.respond(Problem.noPage) } else { call.respondRemoved(count, key) }
            }
        }
    }
}

extension Namespace {
    /// The prefix of paths that lead to this namespace without the field `Larder-Namespace`; empty for the default.
    var pathPrefix: String { name == NamespaceName.default ? "" : "/@\(name)" }
}
