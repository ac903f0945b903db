import HTTPTypes
import Primitives
import TestSupport
import Testing

/// An origin with a page of five resources, of which one is missing for `/partial`.
enum PageOrigin {
    static let title = "The page"

    /// `waits` holds an answer back.
    static func start(waits: Gate? = nil, isHeld: @escaping @Sendable (String) -> Bool = { _ in false }) throws
        -> ScriptedOrigin
    {
        try ScriptedOrigin { request, connection in
            if isHeld(request.target) { try waits?.waitBlocking() }
            func answer(_ type: String, _ body: String, _ fields: HTTPFields = [:]) throws {
                var fields = fields
                fields[.contentType] = type
                try connection.respond(fields: fields, body: body)
            }
            switch request.target {
            case "/":
                let html = """
                    <!doctype html><title>\(title)</title><link rel=stylesheet href="style.css"><h1>Head</h1>\
                    <p>Words &amp; more</p><img src="image.png"><a href="/other">other</a>
                    """
                try answer("text/html", html, [.setCookie: "session=secret-cookie"])
            case "/style.css": try answer("text/css", "h1 { background: url(back.png) }")
            case "/partial": try answer("text/html", "<title>Half</title><img src=image.png><img src=refused>")
            case "/refused": try connection.respond(403, body: "no")
            case "/gone": try connection.respond(404, body: "no")
            case _ where request.target.hasSuffix(".png"): try answer("image/png", "PNG of \(request.target)")
            default: try connection.respond(404, body: "none")
            }
        }
    }
}

extension TestServer {
    /// `POST /pages` that waits for the end of the capture.
    func capture(_ members: JSON, fields: HTTPFields = [:]) async throws -> HTTPReply {
        var fields = fields
        fields[.contentType] = "application/json"
        fields[HTTPField.Name("Prefer")!] = "wait=60"
        return try await client.request("POST", "/pages", fields: fields, body: members.utf8)
    }

    /// Opens the view of a page. Returns the path of its replay, to which an absolute URL is added.
    func openView(_ key: String, fields: HTTPFields = [:]) async throws -> String {
        let reply = try await get("/pages/\(key)/view", fields: fields)
        try #require(reply.status == 303)
        return try #require(reply["Location"])
    }
}
