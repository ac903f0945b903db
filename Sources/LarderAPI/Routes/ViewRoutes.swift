import HTTPTypes
import Larder
import MicroHTTPD
import Primitives

/// The contents of captured pages: their resources, their text, and their replays below
/// `/pages/:key/view/:ticket/`.
struct ViewRoutes: Sendable {
    var routes: [Route] {
        [
            Route("GET", "/pages/:key/resources", .read, .calling("listPageResources", resources)),
            Route("GET", "/pages/:key/text", .read, .calling("getPageText", text)),
            Route("GET", "/pages/:key/screenshot", .read, .calling("getPageScreenshot", screenshot)),
            Route("GET", "/pages/:key/export", .read, .calling("exportPage", export)),
            Route("GET", "/pages/:key/view", .read, .calling("openPage", open)),
            // The ticket in the path admits the request: a browser sends no token for the images of a page.
            Route("GET", "/pages/:key/view/:ticket/", nil, .calling("framePage", frame), in: .ticket),
            Route("GET", "/pages/:key/view/:ticket/*", nil, .calling("viewPage", view), in: .ticket),
        ]
    }

    private func resources(_ head: Endpoint.Head, _ call: Call) throws(Problem) {
        let capture = try head.query(["capture"]).capture()
        head.namespace.viewer.resources(of: try CaptureRoutes.key(head), capture: capture) { result in
            call.take(result, Problem.init) { call.respond(.json(["resources": .array($0)])) }
        }
    }

    private func text(_ head: Endpoint.Head, _ call: Call) throws(Problem) {
        let capture = try head.query(["capture"]).capture()
        head.namespace.viewer.text(of: try CaptureRoutes.key(head), capture: capture) { result in
            call.take(result, Problem.init) { text in
                let fields: HTTPFields = [
                    .contentType: "text/plain; charset=utf-8", .cacheControl: Response.notStored.value,
                    HTTPField.Name("X-Content-Type-Options")!: "nosniff",
                ]
                call.respond(Response(status: 200, fields: fields, body: .bytes(text)))
            }
        }
    }

    private func screenshot(_ head: Endpoint.Head, _ call: Call) throws(Problem) {
        let capture = try head.query(["capture"]).capture()
        head.namespace.viewer.screenshot(of: try CaptureRoutes.key(head), capture: capture) { result in
            call.take(result, Problem.ofScreenshot) { body in
                let fields: HTTPFields = [
                    .contentType: "image/jpeg", .cacheControl: Response.notStored.value,
                    HTTPField.Name("X-Content-Type-Options")!: "nosniff",
                ]
                call.respond(Response(status: 200, fields: fields, body: body.part(0..<body.length)))
            }
        }
    }

    private func export(_ head: Endpoint.Head, _ call: Call) throws(Problem) {
        let query = try head.query(["format", "capture"])
        let formats = PageExport.Format.allCases.map(\.rawValue).joined(separator: ", ")
        let format = try query.value("format", "one of \(formats)") { PageExport.Format(rawValue: $0) } ?? .warc
        let capture = try query.capture()
        let key = try CaptureRoutes.key(head)
        let isHead = head.request.isHead
        head.namespace.viewer.export(of: key, capture: capture) { result in
            call.take(result, Problem.init) { export in
                guard let run = ExportRun(export, format) else {
                    return call.respond(Problem(503, "\(ExportRun.limit) exports are running; try again later"))
                }
                let fields: HTTPFields = [
                    .contentType: format.contentType, .cacheControl: Response.notStored.value,
                    .contentDisposition: "attachment; filename=\"\(key).\(format.fileExtension)\"",
                ]
                if !isHead { run.start() }
                call.respond(Response(status: 200, fields: fields, body: .stream(run.stream, length: nil)))
            }
        }
    }

    private func open(_ head: Endpoint.Head, _ call: Call) throws(Problem) {
        let capture = try head.query(["capture"]).capture()
        let key = try CaptureRoutes.key(head)
        let prefix = head.namespace.pathPrefix
        head.namespace.viewer.open(key, capture: capture) { result in
            call.take(result, Problem.init) { ticket in
                let fields: HTTPFields = [
                    .location: "\(prefix)/pages/\(key)/view/\(ticket.text)/", .cacheControl: Response.notStored.value,
                ]
                call.respond(Response(status: 303, fields: fields, body: .bytes(SharedBytes([]))))
            }
        }
    }

    private func frame(_ head: Endpoint.Head, _ call: Call) throws(Problem) {
        _ = try head.query()
        let (place, _) = try Self.place(head, call)
        head.namespace.viewer.frame(head.parameter("ticket"), key: try CaptureRoutes.key(head), at: place) {
            Self.respond($0, call)
        }
    }

    private func view(_ head: Endpoint.Head, _ call: Call) throws(Problem) {
        let (place, url) = try Self.place(head, call)
        let (ticket, key) = (head.parameter("ticket"), try CaptureRoutes.key(head))
        head.namespace.viewer.answer(ticket, key: key, url: url, at: place) { Self.respond($0, call) }
    }

    /// The place of the replay, and the URL behind it, byte for byte, with its own query.
    private static func place(_ head: Endpoint.Head, _ call: Call) throws(Problem) -> (ReplayPlace, String) {
        let prefix = "/pages/\(head.parameter("key"))/view/\(head.parameter("ticket"))/"
        let target = head.request.withTarget { String(escapingNonASCII: $0) }
        guard target.hasPrefix(prefix) else { throw .notFound("no view at this path") }
        let place = ReplayPlace(host: head.request.field("Host") ?? "", path: call.context.pathPrefix + prefix)
        return (place, String(target.dropFirst(prefix.count)))
    }

    private static func respond(_ result: Result<PageViewer.Answer, PageViewer.Failure>, _ call: Call) {
        call.take(result, Problem.init) { answer in
            let body = answer.body.part(0..<answer.body.length)
            call.respond(Response(status: answer.status, fields: answer.fields, body: body))
        }
    }
}
