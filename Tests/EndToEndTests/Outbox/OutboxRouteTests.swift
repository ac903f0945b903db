import Foundation
import HTTPTypes
import Larder
import Primitives
import TestSupport
import Testing

@Suite("The calls of the outbox")
struct OutboxRouteTests {
    private static let json: HTTPFields = [.contentType: "application/json"]

    /// An origin with a document in JSON. Its tag is a digest of the body, so it is sound at once.
    private final class Document: Sendable {
        let origin: ScriptedOrigin
        private let state: SharedState

        final class SharedState: Sendable {
            let value = Locked(#"{"title":"Old","n":1.0}"#)
        }

        init() throws {
            let state = SharedState()
            self.state = state
            origin = try ScriptedOrigin { request, connection in
                let tag = state.value.withLock { #""\#(md5($0))""# }
                guard request.method != "GET" else {
                    let fields: HTTPFields = [.contentType: "application/json", .eTag: tag]
                    return try connection.respond(fields: fields, body: state.value.withLock(\.self))
                }
                if let wanted = request["If-Match"], wanted != tag { return try connection.respond(412) }
                state.value.withLock { $0 = String(decoding: request.body, as: UTF8.self) }
                try connection.respond(204)
            }
        }

        var url: String { origin.url("/note") }
        var body: String { state.value.withLock(\.self) }
        func write(_ body: String) { state.value.withLock { $0 = body } }
    }

    private func post(_ server: TestServer, _ path: String, _ text: String) async throws -> HTTPReply {
        try await server.client.request("POST", path, fields: Self.json, text: text)
    }

    /// Waits until a change has a state. The clock is turned, so that no pause lasts.
    private func wait(for state: JSON, of place: String, _ server: TestServer) async throws -> HTTPReply {
        try await poll {
            try await server.get(place)
        } until: {
            try $0.member("state") == state
        }
    }

    @Test("A patch on a downloaded document is sent, and the cache has the new version")
    func patch() async throws {
        let document = try Document()
        try await TestServer.with { (server) async throws in
            _ = try await server.download(["url": .string(document.url), "ttl": 3600])
            let content = "/entries/\(md5(document.url))/content"
            let tag = try #require(try await server.get(content)["ETag"])
            let request: JSON = [
                "url": .string(document.url), "patch": ["title": "New"], "base": .string(tag), "idempotencyKey": "k",
            ]
            let reply = try await post(server, "/outbox", request.text)
            #expect(reply.status == 202)
            let place = try #require(reply["Location"])
            _ = try await wait(for: "done", of: place, server)
            #expect(document.body == #"{"title":"New","n":1.0}"#)
            #expect(try await server.get(content).text == document.body)
            // The same request is the same change, and another one with the key is refused.
            #expect(try await post(server, "/outbox", request.text)["Location"] == place)
            let other = try await post(
                server, "/outbox", #"{"url": "\#(document.url)", "body": 1, "idempotencyKey": "k"}"#)
            #expect(other.status == 422)
            #expect(try other.member("pointer") == "/idempotencyKey")
            #expect(try await server.client.request("DELETE", place).status == 409)
            // A revert is a change of its own.
            let revert = try await server.client.request("POST", place + "/revert")
            #expect(revert.status == 202)
            _ = try await wait(for: "done", of: try #require(revert["Location"]), server)
            #expect(try JSON(parsing: document.body)["title"] == "Old")
            #expect(try await server.get("/outbox?state=done").member("changes")?.arrayValue?.count == 2)
        }
    }

    @Test("A clash waits, shows three versions, and a decision ends it")
    func conflict() async throws {
        let document = try Document()
        try await TestServer.with { (server) async throws in
            document.write(#"{"title":"Rival"}"#)
            let reply = try await post(
                server, "/outbox",
                #"{"url": "\#(document.url)", "seen": {"body": {"title": "Old"}}, "body": {"title": "Mine"}}"#)
            let place = try #require(reply["Location"])
            let held = try await wait(for: "conflict", of: place, server)
            #expect(try held.member("seen", "text") == #"{"title":"Old"}"#)
            #expect(try held.member("ours", "text") == #"{"title":"Mine"}"#)
            #expect(try held.member("theirs", "text") == #"{"title":"Rival"}"#)
            #expect(try await post(server, place + "/resolve", #"{"take": "none"}"#).status == 400)
            #expect(try await post(server, place + "/resolve", #"{"body": {"title": "Both"}}"#).status == 200)
            _ = try await wait(for: "done", of: place, server)
            #expect(document.body == #"{"title":"Both"}"#)
        }
    }

    @Test("Faults are problems with pointers, and create no state directory")
    func faults() async throws {
        let document = try Document()
        let directory = try TemporaryDirectory()
        try await TestServer.with(directory: directory) { (server) async throws in
            let url = document.url
            let tag = String(repeating: "x", count: 1025)
            let faults: [(Int, String, String)] = [
                (400, "/url", #"{"body": 1}"#), (400, "/body", #"{"url": "\#(url)"}"#),
                (400, "/text", #"{"url": "\#(url)", "body": 1, "text": "x"}"#),
                (400, "/seen", #"{"url": "\#(url)", "body": 1, "base": "blind", "seen": {"body": 1}}"#),
                (400, "/base", #"{"url": "\#(url)", "body": 1, "base": "W/\"x\""}"#),
                (400, "/seen/etag", #"{"url": "\#(url)", "body": 1, "seen": {"body": 1, "etag": "\#(tag)"}}"#),
                (409, "/base", #"{"url": "\#(url)", "body": 1, "base": "\"x\""}"#),
                (422, "/base", #"{"url": "\#(url)", "method": "DELETE"}"#),
                (422, "/base", #"{"url": "\#(url)", "patch": {}, "base": "blind"}"#),
                (
                    422, "/patch/0",
                    #"{"url": "\#(url)", "patch": [{"op": "remove", "path": "/x"}], "seen": {"body": {}}}"#
                ),
                (422, "/method", #"{"url": "\#(url)", "method": "PATCH", "body": 1}"#),
                (422, "/method", #"{"url": "\#(url)", "method": "POST", "patch": {"a": 1}}"#),
                (
                    422, "/headers/content-encoding",
                    #"{"url": "\#(url)", "body": 1, "base": "blind", "headers": {"Content-Encoding": "gzip"}}"#
                ),
                (422, "/headers/Authorization", #"{"url": "\#(url)", "body": 1, "headers": {"Authorization": "x"}}"#),
                (422, "/headers/Cookie", #"{"url": "\#(url)", "body": 1, "headers": {"Cookie": "x"}}"#),
                (403, "/url", #"{"url": "http://10.0.0.1/", "body": 1}"#),
            ]
            for (status, pointer, text) in faults {
                let reply = try await post(server, "/outbox", text)
                #expect(reply.status == status, "\(text)")
                #expect(try reply.member("pointer") == .string(pointer), "\(text)")
            }
            let long = #"{"url": "\#(url)", "text": "\#(String(repeating: "x", count: (1 << 20) + 1))"}"#
            #expect(try await post(server, "/outbox", long).status == 413)
            #expect(try await server.get("/outbox?cursor=-1").status == 400)
            let put = try await server.client.request("PUT", "/outbox", fields: Self.json, text: "1")
            #expect(put.status == 405 && !put.text.contains("/content"), "\(put.text)")
            #expect(try await server.get("/outbox").member("changes") == [])
            #expect(try await server.get("/credentials").member("credentials") == [])
            #expect(!FileManager.default.fileExists(atPath: directory.path("state")))
            #expect(document.origin.requestCount == 0)
        }
    }

    @Test("A namespace with unsent changes is removed only with outbox=discard")
    func namespaces() async throws {
        let port = try RefusingPort()
        try await TestServer.with { (server) async throws in
            try await server.putNamespace("notes")
            let request = #"{"url": "http://127.0.0.1:\#(port.number)/x", "base": "blind", "body": 1}"#
            #expect(try await post(server, "/@notes/outbox", request).status == 202)
            #expect(try await server.get("/outbox").member("changes") == [])
            #expect(try await server.client.request("DELETE", "/namespaces/notes").status == 409)
            let version = try await server.client.request(
                "PUT", "/namespaces/notes", fields: Self.json, text: #"{"version": "2"}"#)
            #expect(version.status == 409)
            #expect(try await server.client.request("DELETE", "/namespaces/notes?outbox=discard").status == 200)
            try await server.putNamespace("notes")
            #expect(try await server.get("/@notes/outbox").member("changes") == [])
        }
    }

    @Test("A credential is never shown")
    func credentials() async throws {
        try await TestServer.with { (server) async throws in
            let reply = try await server.client.request(
                "PUT", "/credentials/key", fields: Self.json,
                text: #"{"origins": ["HTTPS://Example.com:443/"], "headers": {"Authorization": "Bearer secret"}}"#)
            #expect(reply.status == 200)
            #expect(try reply.member("origins") == ["https://example.com"])
            let list = try await server.get("/credentials")
            #expect(!(reply.text + list.text).contains("secret"))
        }
    }

    @Test("A namespace with 256 credentials gets 507 for one more, and lists the others with their origins")
    func credentialLimit() async throws {
        try await TestServer.with { (server) async throws in
            let text = #"{"origins": ["https://example.com"], "headers": {"Cookie": "a"}}"#
            for number in 0..<256 {
                let reply = try await server.client.request(
                    "PUT", "/credentials/key-\(number)", fields: Self.json, text: text)
                #expect(reply.status == 200)
            }
            let refused = try await server.client.request("PUT", "/credentials/more", fields: Self.json, text: text)
            #expect(refused.status == 507, "\(refused.text)")
            let list = try await server.get("/credentials").member("credentials")?.arrayValue ?? []
            #expect(list.count == 256 && list.allSatisfy { $0["origins"] == ["https://example.com"] })
        }
    }

    @Test("The outbox needs the scope send")
    func scope() async throws {
        let tokens = try TestTokens([
            .init(name: "reader", scopes: [.read, .download, .write, .purge, .admin]), .init(name: "me"),
        ])
        try await TestServer.with(tokens: tokens.store) { (server) async throws in
            for path in ["/outbox", "/credentials"] {
                #expect(try await server.get(path, fields: tokens.fields("reader", for: path)).status == 403)
                #expect(try await server.get(path, fields: tokens.fields("me", for: path)).status == 200)
            }
            // The discarding of changes is no purge.
            let reply = try await server.client.request(
                "DELETE", "/namespaces/none?outbox=discard", fields: tokens.fields("reader", for: "/namespaces"))
            #expect(reply.status == 403)
        }
    }
}
