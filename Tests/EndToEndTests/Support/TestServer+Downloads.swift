import HTTPTypes
import Primitives
import TestSupport
import Testing

extension TestServer {
    /// Waits until so many callers wait for the download that began last.
    func waitForWaiters(_ count: Int) async throws {
        try await poll("\(count) waiters") { service.downloads.statuses(limit: 1).first?.waiters == count }
    }

    /// Waits until the download of a URL has stored what it brought.
    func waitForSuccess(of url: String) async throws {
        try await poll("the download of \(url)") { service.downloads.status(of: md5(url))?.state == .succeeded }
    }

    /// Posts the same JSON on connections of their own, and leaves the answers unread.
    func post(_ json: JSON, to path: String, connections count: Int) async throws -> [RawConnection] {
        try await blocking { [port = api.port] in
            try (0..<count).map { _ in
                let connection = try RawConnection(port: port)
                try connection.sendRequest(
                    "POST", path, fields: [.contentType: "application/json"], body: json.utf8)
                return connection
            }
        }
    }

    /// The body that is held for a URL, fresh; the words of the problem when there is none.
    func content(of url: String, sourceLocation: SourceLocation = #_sourceLocation) async throws -> String {
        try await get("/entries/\(md5(url))/content", sourceLocation: sourceLocation).text
    }
}

extension ScriptedOrigin {
    /// An origin that answers every request with the same body, but not before the gate is open.
    convenience init(answering body: String, after gate: Gate) throws {
        try self.init { _, connection in
            try gate.waitBlocking()
            try connection.respond(body: body)
        }
    }
}
