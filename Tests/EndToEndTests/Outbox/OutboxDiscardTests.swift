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

    @Test("A refused call discards no part of the outbox of a lost namespace, and a creation does so if it wants to")
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
}
