import HTTPTypes
import Primitives

/// An origin with documents that a test changes. It gives each body an entity tag, honours `If-None-Match`, and answers
/// 404 for a path without a document.
package final class TestWeb: Sendable {
    package struct Document: Sendable {
        package var body: String
        package var status: Int
        package var fields: HTTPFields

        package init(body: String = "", status: Int = 200, fields: HTTPFields = [:]) {
            self.body = body
            self.status = status
            self.fields = fields
        }
    }

    package let origin: ScriptedOrigin
    private let documents: Documents

    /// The documents that the script and the test share.
    private final class Documents: Sendable {
        let value = Locked<[String: Document]>([:])
    }

    package init(_ bodies: [String: String] = [:]) throws {
        let documents = Documents()
        self.documents = documents
        origin = try ScriptedOrigin { request, connection in
            guard let document = documents.value.withLock({ $0[request.target] }) else {
                return try connection.respond(404, body: "no")
            }
            guard document.status == 200 else {
                return try connection.respond(document.status, fields: document.fields, body: "failed")
            }
            var fields = document.fields
            let tag = "\"\(document.body.utf8.reduce(into: 5381) { $0 = $0 &* 33 &+ Int($1) })\""
            fields[.eTag] = tag
            if request["If-None-Match"] == tag { return try connection.respond(304, fields: fields) }
            try connection.respond(fields: fields, body: document.body)
        }
        for (path, body) in bodies { self[path] = Document(body: body) }
    }

    package subscript(path: String) -> Document? {
        get { documents.value.withLock { $0[path] } }
        set { documents.value.withLock { $0[path] = newValue } }
    }

    package func url(_ path: String) -> String { origin.url(path) }

    /// An RSS feed with an item for each path, the newest first.
    package func feed(_ paths: [String]) -> String {
        let items = paths.map { "<item><guid>\($0)</guid><link>\(url($0))</link></item>" }
        return "<rss version=\"2.0\"><channel><title>t</title>\(items.joined())</channel></rss>"
    }
}
