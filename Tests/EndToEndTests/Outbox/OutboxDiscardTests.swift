import Foundation
import HTTPTypes
import Primitives
import TestSupport
import Testing

@Suite("Calls that discard the outbox of a namespace")
struct OutboxDiscardTests {
    private static let json: HTTPFields = [.contentType: "application/json"]
    private static let credential = #"{"origins": ["https://example.com"], "headers": {"Cookie": "a"}}"#

    private func put(_ server: TestServer, _ text: String, _ query: String = "?outbox=discard") async throws -> Int {
        try await server.client.request("PUT", "/namespaces/notes" + query, fields: Self.json, text: text).status
    }

    private func credentials(_ server: TestServer) async throws -> Int? {
        try await server.get("/@notes/credentials").member("credentials")?.arrayValue?.count
    }

    @Test("A refused call discards no part of a lost namespace's outbox, and a creation with outbox=discard does so")
    func refusedCreation() async throws {
        let directory = try TemporaryDirectory()
        func loseCache() throws { try FileManager.default.removeItem(atPath: directory.path("cache")) }
        try await TestServer.with(directory: directory) { (server) async throws in
            try await server.putNamespace("notes")
            let reply = try await server.client.request(
                "PUT", "/@notes/credentials/key", fields: Self.json, text: Self.credential)
            #expect(reply.status == 200)
        }
        try loseCache()
        try await TestServer.with(directory: directory) { (server) async throws in
            // More than the server has.
            #expect(try await put(server, #"{"diskLimit": "1000TiB"}"#) == 409)
            #expect(try await put(server, "{}", "") == 200)
            #expect(try await credentials(server) == 1)
            // The namespace exists, and its entries stay.
            #expect(try await put(server, "{}") == 200)
            #expect(try await credentials(server) == 1)
        }
        try loseCache()
        try await TestServer.with(directory: directory) { (server) async throws in
            #expect(try await put(server, "{}") == 200)
            #expect(try await credentials(server) == 0)
        }
    }

    @Test("The log has a line about a discard that a later call makes for a failed one", arguments: ["2", "3"])
    func audit(version: String) async throws {
        let directory = try TemporaryDirectory()
        func start() async throws -> LarderProcess {
            try await LarderProcess(
                directory: directory.path("cache"), arguments: ["--state-directory", directory.path("state")])
        }
        func put(_ path: String, _ text: String, _ larder: LarderProcess) async throws -> Int {
            try await larder.client.request("PUT", path, fields: Self.json, text: text).status
        }
        let first = try await start()
        #expect(try await put("/namespaces/notes", #"{"version": "1"}"#, first) == 200)
        #expect(try await put("/@notes/credentials/key", Self.credential, first) == 200)
        #expect(try await put("/credentials/lock", Self.credential, first) == 200)
        #expect(try await first.stop() == .status(0))
        // A credential of another namespace lets the database refuse the discard until it is removed.
        try directory.executeInOutbox(
            """
            CREATE TRIGGER refuse BEFORE DELETE ON credentials
            WHEN old.name = 'key' AND EXISTS (SELECT 1 FROM credentials WHERE name = 'lock')
            BEGIN SELECT RAISE(ABORT, 'refused'); END
            """)
        let larder = try await start()
        #expect(try await put("/namespaces/notes?outbox=discard", #"{"version": "2"}"#, larder) == 500)
        #expect(try await larder.client.request("DELETE", "/credentials/lock").status == 200)
        let text = #"{"version": "\#(version)"}"#
        #expect(try await put("/namespaces/notes?outbox=discard", text, larder) == 200)
        #expect(try await put("/namespaces/notes?outbox=discard", text, larder) == 200)
        #expect(try await larder.stop() == .status(0))
        let words = larder.logLines("change").map {
            "\($0["operation"]?.stringValue ?? "") \($0["what"]?.stringValue ?? "")"
        }
        let last = version == "2" ? [] : ["putNamespace namespace cleared"]
        #expect(
            words == [
                "putNamespace namespace cleared", "removeCredential credential lock", "putNamespace outbox discarded",
            ] + last)
    }
}
