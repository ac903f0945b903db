import HTTPCaching
import HTTPTypes
import Larder
import MicroHTTPD
import Primitives

/// The contents of captured pages: their resources, their text, and their replays below
/// `/pages/:key/view/:ticket/`.
struct ViewRoutes: Sendable {
    let ready: ReadyAnswers

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
        head.namespace.viewer.frame(head.parameter("ticket"), key: try CaptureRoutes.key(head), at: place) { result in
            call.take(result, Problem.init) { call.respond(Self.whole($0)) }
        }
    }

    private func view(_ head: Endpoint.Head, _ call: Call) throws(Problem) {
        let (place, url) = try Self.place(head, call)
        let (ticket, key) = (head.parameter("ticket"), try CaptureRoutes.key(head))
        let viewer = head.namespace.viewer
        viewer.answer(ticket, key: key, url: url, at: place) { [self] result in
            call.take(result, Problem.init) { answer in
                let response = Result { () throws(Problem) in try respond(answer, to: head.request) }
                if case .success(let response) = response, response.status == 200, let marks = answer.marks {
                    // Documents name the host in their policy.
                    ready.keep(
                        to: call, selectors: ["host"], madeOf: marks.resource, of: marks.page,
                        ownBytes: answer.digest == nil ? Int(answer.body.length) : 0, renews: true
                    ) { _ in viewer.renew(ticket, key: key).map { (response, $0) } }
                }
                call.respond(response)
            }
        }
    }

    /// Only a captured body can be sent in part. The status of the origin's answer stays, so an error has no parts.
    private func respond(_ answer: PageViewer.Answer, to request: Request) throws(Problem) -> Response {
        guard let digest = answer.digest, answer.status == 200 else { return Self.whole(answer) }
        let current = SelectedRepresentation(
            etag: SelectedRepresentation.etag(digest.prefix(16)), lastModified: nil)
        var fields = answer.fields
        fields[.eTag] = current.etag?.text
        // Browsers apply the policy and the rules for other origins to a 304, too.
        var validators = fields
        validators[.contentType] = nil
        fields.append(ContentResponse.acceptRanges)
        return try SelectedBody(answer.body, 0..<answer.body.length, current).response(
            to: request, at: ready.now, fields: fields, validators: validators)
    }

    /// The place of the replay, and the URL behind it, byte for byte, with its own query.
    private static func place(_ head: Endpoint.Head, _ call: Call) throws(Problem) -> (ReplayPlace, String) {
        let prefix = "/pages/\(head.parameter("key"))/view/\(head.parameter("ticket"))/"
        let target = head.request.withTarget { String(escapingNonASCII: $0) }
        guard target.hasPrefix(prefix) else { throw .notFound("no view at this path") }
        let place = ReplayPlace(host: head.request.field("Host") ?? "", path: call.context.pathPrefix + prefix)
        return (place, String(target.dropFirst(prefix.count)))
    }

    private static func whole(_ answer: PageViewer.Answer) -> Response {
        Response(status: answer.status, fields: answer.fields, body: answer.body.part(0..<answer.body.length))
    }
}
