import HTTPTypes
import Larder
import Primitives
import TestSupport
import Testing

extension TestServer {
    /// Runs `body` with a server, and with an origin that answers each request with its target. The gate holds the
    /// answers for which `isHeld` returns `true`, by default all of them, until it opens.
    static func withGatedOrigin(
        configure: (inout Configuration) -> Void = { _ in },
        isHeld: @escaping @Sendable (_ target: String) -> Bool = { _ in true },
        _ body: (TestServer, ScriptedOrigin, Gate) async throws -> Void
    ) async throws {
        let gate = Gate("the origin's answers")
        let origin = try ScriptedOrigin { request, connection in
            if isHeld(request.target) { try gate.waitBlocking() }
            try connection.respond(body: request.target)
        }
        defer {
            gate.open()
            origin.stop()
        }
        try await with(configure: configure) { server in try await body(server, origin, gate) }
    }

    /// Waits until this number of callers wait for the running download that began last.
    func waitForWaiters(_ count: Int) async throws {
        try await poll("\(count) waiters") { space.downloads.statuses(limit: 1).first?.waiters == count }
    }

    /// Waits until the download of a URL has stored its entry.
    func waitForSuccess(of url: String) async throws {
        try await poll("the download of \(url)") { space.downloads.status(of: md5(url))?.state == .succeeded }
    }

    /// Posts the same JSON on this number of new connections, and leaves the answers unread.
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

    /// The body of the fresh entry of a URL, or the text of the problem when there is none.
    func content(of url: String, sourceLocation: SourceLocation = #_sourceLocation) async throws -> String {
        try await get("/entries/\(md5(url))/content", sourceLocation: sourceLocation).text
    }
}
