import HTTPTypes
import Larder
import MicroHTTPD
import Primitives

struct DownloadRoutes: Sendable {
    /// The longest body in bytes, of a request and of a batch.
    static let requestLimit = 1 << 20
    static let batchLimit = 8 << 20

    let clock: any WallClock

    var routes: [Route] {
        [
            Route("POST", "/download", .download, .collecting("download", limit: Self.requestLimit, download)),
            Route("POST", "/downloads", .download, .collecting("downloadAll", limit: Self.batchLimit, downloadAll)),
            Route("GET", "/downloads", .read, .calling("listDownloads", list)),
            Route("GET", "/downloads/:key", .read, .answering("getDownload", get)),
            Route("DELETE", "/downloads/:key", .download, .calling("cancelDownload", checking: checkCancel, cancel)),
        ]
    }

    private func download(_ head: Endpoint.Head, _ body: [UInt8], _ call: Call) throws(Problem) {
        _ = try head.query()
        let contentType = head.request.field("Content-Type")
        let request = try DownloadRequest(try BodyDecoding.downloadRequest(body, contentType: contentType))
        try head.visitor.check(request)
        if let preference = Preferences(head.request).respondAsync {
            return start(request, in: head.namespace, applying: preference, call)
        }
        let downloads = head.namespace.downloads
        let place = downloads.download(request) { [clock] result in
            call.take(result, Problem.init) { success in
                if success.isChange { call.changed(success.entry.key) }
                call.respond(.json(success.json(at: clock.now())))
            }
        }
        if let place {
            call.exchange.onHangUp {
                downloads.leave(place)
                // The download continues without its client, so the audit log records it now.
                call.changed(request.key.text)
            }
        }
    }

    private func start(
        _ request: DownloadRequest, in namespace: Namespace, applying preference: Preference, _ call: Call
    ) {
        namespace.downloads.start(request) { result in
            switch result {
            case .success(.cached(let result)):
                if result.isChange { call.changed(result.entry.key) }
                call.respond(.json(result.json(at: clock.now())))
            case .success(.started(let status)):
                call.changed(status.key)
                var fields = HTTPFields()
                fields[.location] = "\(call.context.pathPrefix)/downloads/\(status.key)"
                fields.append(preference.field)
                call.respond(
                    Result { () throws(Problem) in .json(try json(status, in: namespace), status: 202, fields: fields) }
                )
            case .failure(let error): call.respond(Problem(error))
            }
        }
    }

    private func downloadAll(_ head: Endpoint.Head, _ body: [UInt8], _ call: Call) throws(Problem) {
        _ = try head.query()
        let elements = try BodyDecoding.batch(body, contentType: head.request.field("Content-Type"))
        call.context.visitor.bearer?.charge(max(0, elements.count - 1))
        BatchRun(call.context, clock: clock, elements: elements).run(call)
    }

    private func list(_ head: Endpoint.Head, _ call: Call) throws(Problem) {
        let limit = try head.query(["limit"]).limit()
        try call.respondInTurn { () throws(Problem) in
            var downloads: [JSON] = []
            // One status more than the limit shows whether there are more downloads.
            let statuses = head.namespace.downloads.statuses(limit: limit + 1)
            for status in statuses.prefix(limit) { downloads.append(try json(status, in: head.namespace)) }
            return .json(["downloads": .array(downloads), "more": .bool(statuses.count > limit)])
        }
    }

    private func get(_ head: Endpoint.Head) throws(Problem) -> Response {
        _ = try head.query()
        guard let status = head.namespace.downloads.status(of: head.parameter("key")) else { throw Self.unknown }
        return .json(try json(status, in: head.namespace))
    }

    /// For an ended download no condition counts, because the answer is 409 in any case.
    private func checkCancel(_ head: Endpoint.Head) throws(Problem) {
        _ = try head.query()
        let runs = head.namespace.downloads.status(of: head.parameter("key"))?.state == .running
        try head.checkCondition(at: clock.now(), untagged: runs)
    }

    private func cancel(_ head: Endpoint.Head, _ call: Call) throws(Problem) {
        let key = head.parameter("key")
        switch head.namespace.downloads.cancel(key) {
        case .cancelled(let status):
            call.changed(key)
            call.respond(.json(try json(status, in: head.namespace)))
        case .alreadyEnded: throw Problem(409, "the download has already ended")
        case .unknown: throw Self.unknown
        }
    }

    /// Includes the entry that the download created if it is still cached.
    private func json(_ status: DownloadStatus, in namespace: Namespace) throws(Problem) -> JSON {
        status.json(try Problem.mapping(try namespace.downloads.entry(of: status)), at: clock.now())
    }

    private static let unknown = Problem.notFound(
        "no download with this key is running or ended within the last 10 minutes")
}
