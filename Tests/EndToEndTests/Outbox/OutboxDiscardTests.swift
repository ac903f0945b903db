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

    /// The server runs no upkeep, which would make the due discard before the later call.
    @Test("The log has a line about a discard that a later call makes for a failed one", arguments: ["2", "3"])
    func audit(version: String) async throws {
        let directory = try TemporaryDirectory()
        func putCredential(_ path: String, _ server: TestServer) async throws -> Int {
            try await server.client.request("PUT", path, fields: Self.json, text: Self.credential).status
        }
        try await TestServer.with(directory: directory) { (server) async throws in
            try await server.putNamespace("notes", ["version": "1"])
            #expect(try await putCredential("/@notes/credentials/key", server) == 200)
            #expect(try await putCredential("/credentials/lock", server) == 200)
        }
        // A credential of another namespace lets the database refuse the discard until it is removed.
        try directory.executeInOutbox(
            """
            CREATE TRIGGER refuse BEFORE DELETE ON credentials
            WHEN old.name = 'key' AND EXISTS (SELECT 1 FROM credentials WHERE name = 'lock')
            BEGIN SELECT RAISE(ABORT, 'refused'); END
            """)
        let log = ServerLog()
        try await TestServer.with(directory: directory, log: log) { (server) async throws in
            #expect(try await put(server, #"{"version": "2"}"#) == 500)
            #expect(try await server.client.request("DELETE", "/credentials/lock").status == 200)
            let text = #"{"version": "\#(version)"}"#
            #expect(try await put(server, text) == 200)
            #expect(try await put(server, text) == 200)
        }
        let words = log.lines("change").map { "\($0["operation"] ?? "") \($0["what"] ?? "")" }
        let last = version == "2" ? [] : ["putNamespace namespace cleared"]
        #expect(
            words == [
                "putNamespace namespace cleared", "removeCredential credential lock", "putNamespace outbox discarded",
            ] + last)
    }
}
