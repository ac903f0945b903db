import Dispatch
import HTTPTypes
import Larder
import MicroHTTPD
import Primitives

/// `/pages`: captures of web pages, and their replays.
struct CaptureRoutes: Sendable {
    private static let requestLimit = 1 << 20
    /// The longest time, in seconds, for which a request waits for the end of a capture.
    private static let waitLimit = 300
    private static let queue = DispatchQueue(label: "larder.pages.wait")

    let clock: any WallClock

    var routes: [Route] {
        [
            Route(
                "POST", "/pages", .download, .collecting("capturePage", limit: Self.requestLimit, capture)),
            Route("GET", "/pages", .read, .calling("listPages", list)),
            Route("GET", "/pages/:key", .read, .calling("getPage", get)),
            Route("DELETE", "/pages/:key", .purge, .calling("removePage", remove)),
            Route("GET", "/pages/:key/resources", .read, .calling("listPageResources", resources)),
            Route("GET", "/pages/:key/view", .read, .calling("openPage", open)),
            // The ticket in the path admits the request: a browser sends no token for the images of a page.
            Route("GET", "/pages/:key/view/:ticket/*", nil, .calling("viewPage", view)),
        ]
    }

    /// The key of the page's entry. A client may leave out `-page`, so that the MD5 of the URL is enough.
    private static func key(_ head: Endpoint.Head) -> String {
        let key = head.parameter("key")
        return key.utf8.count == 32 ? key + "-page" : key
    }

    private func capture(_ head: Endpoint.Head, _ body: [UInt8], _ call: Call) throws(Problem) {
        _ = try head.query()
        let request = try PageRequest(try BodyDecoding.json(body, contentType: head.request.field("Content-Type")))
        if request.pinned != nil { try head.visitor.check(.write) }
        let pages = head.namespace.pages
        let answered = Flag()
        let wait = Self.wait(head.request)
        let location = "\(call.context.pathPrefix)/pages/\(request.key.text)"
        let finish: @Sendable (PageStatus) -> Void = { status in
            guard wait != nil, answered.take() else { return }
            respond(to: status, head.namespace, call)
        }
        let status: PageStatus
        do {
            status = try pages.capture(request, completion: finish)
        } catch {
            throw Problem(error)
        }
        call.changed(status.key)
        let accepted: @Sendable () -> Void = {
            guard answered.take() else { return }
            let now = pages.status(of: status.key) ?? status
            call.respond(.json(now.json, status: 202, fields: [.location: location]))
        }
        guard let wait else { return accepted() }
        Self.queue.asyncAfter(deadline: .now() + .seconds(wait), execute: accepted)
    }

    /// The seconds of `Prefer: wait=SECONDS` (RFC 7240 §4.3); `nil` without them.
    private static func wait(_ request: Request) -> Int? {
        for line in request.values(HTTPField.Name("Prefer")!) {
            for preference in line.split(separator: ",") {
                let parts = preference.split(separator: "=").map { String($0.trimmingSpace()) }
                if parts.count == 2, parts[0].lowercased() == "wait", let seconds = Int(parts[1]), seconds > 0 {
                    return min(seconds, waitLimit)
                }
            }
        }
        return nil
    }

    /// Answers with the page when its capture has ended, or with the reason for its failure.
    private func respond(to status: PageStatus, _ namespace: Namespace, _ call: Call) {
        switch status.state {
        case .failed, .cancelled: call.respond(Problem(status.problem ?? .cancelled))
        case .queued, .fetching, .complete, .partial: respondPage(status.key, status, namespace, call)
        }
    }

    private func get(_ head: Endpoint.Head, _ call: Call) throws(Problem) {
        _ = try head.query()
        let key = Self.key(head)
        respondPage(key, head.namespace.pages.status(of: key), head.namespace, call)
    }

    /// The page's entry and captures, and the state of its last capture; either may be missing.
    private func respondPage(_ key: String, _ status: PageStatus?, _ namespace: Namespace, _ call: Call) {
        namespace.entries.find(key) { result in
            call.take(result, Problem.init) { stored in
                let page = stored.flatMap { $0.entry.kind == .page ? $0 : nil }
                guard page != nil || status != nil else { return call.respond(Problem.noPage) }
                var members: [JSON.Member] = []
                if let status {
                    members = [.init("status", status.json)]
                }
                if let page, let manifest = PageManifest(of: page) {
                    let bytes = (try? namespace.pages.bytes(of: key)) ?? (all: 0, shared: 0)
                    members += [
                        .init("entry", page.entry.json(at: clock.now())),
                        .init("captures", .array(manifest.captures.reversed().map(\.json))),
                        .init("bytes", .number(bytes.all)), .init("sharedBytes", .number(bytes.shared)),
                    ]
                }
                call.respond(.json(.object([.init("key", .string(key))] + members)))
            }
        }
    }

    private func list(_ head: Endpoint.Head, _ call: Call) throws(Problem) {
        let query = try head.query(["tag", "limit", "cursor"])
        let filter = EntryFilter(tag: try query.nonEmpty("tag").map(Tags.spelling), kind: .page)
        let (limit, cursor) = (try query.limit(), query["cursor"])
        try call.respondInTurn { () throws(Problem) in
            let page = try Problem.mapping(try head.entries.list(filter, sort: .key, limit: limit, cursor: cursor))
            let now = clock.now()
            var object = JSONObjectWriter()
            object.add("pages", elements: page.entries.lazy.map { $0.json(at: now) })
            if let cursor = page.nextCursor { object.add("nextCursor", cursor) }
            return .json(consume object)
        }
    }

    private func remove(_ head: Endpoint.Head, _ call: Call) throws(Problem) {
        _ = try head.query()
        let key = Self.key(head)
        let wasRunning = head.namespace.pages.cancel(key)
        head.entries.remove(key, condition: head.condition(at: clock.now())) { result in
            call.take(result, Problem.init) { count in
                if count == 0, !wasRunning { call.respond(Problem.noPage) } else { call.respondRemoved(count, key) }
            }
        }
    }

    private func resources(_ head: Endpoint.Head, _ call: Call) throws(Problem) {
        _ = try head.query()
        head.namespace.viewer.resources(of: Self.key(head)) { result in
            call.take(result, Problem.init) { records in call.respond(.json(["resources": .array(records)])) }
        }
    }

    // MARK: - Replay

    private func open(_ head: Endpoint.Head, _ call: Call) throws(Problem) {
        _ = try head.query()
        let key = Self.key(head)
        head.namespace.viewer.open(key) { result in
            call.take(result, Problem.init) { ticket in
                let path = "\(call.context.pathPrefix)/pages/\(key)/view/\(ticket.text)/\(ticket.url)"
                call.respond(
                    Response(
                        status: 303, fields: [.location: path, .cacheControl: Response.notStored.value],
                        body: .bytes(SharedBytes([]))))
            }
        }
    }

    private func view(_ head: Endpoint.Head, _ call: Call) throws(Problem) {
        let (key, ticket) = (head.parameter("key"), head.parameter("ticket"))
        // The URL is the rest of the target, byte for byte, with its own query.
        let prefix = "/pages/\(key)/view/\(ticket)/"
        let target = head.request.withTarget { String(escapingNonASCII: $0) }
        guard target.hasPrefix(prefix) else { throw .notFound("no view at this path") }
        let place = ReplayPlace(host: head.request.field("Host") ?? "", path: call.context.pathPrefix + prefix)
        head.namespace.viewer.answer(
            ticket, key: Self.key(head), url: String(target.dropFirst(prefix.count)), at: place
        ) { result in
            call.take(result, Problem.init) { answer in
                call.respond(
                    Response(
                        status: answer.status, fields: answer.fields, body: answer.body.part(0..<answer.body.length)))
            }
        }
    }
}
