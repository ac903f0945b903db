import HTTPTypes
import Primitives
import TestSupport
import Testing

@Suite("The outbox of a namespace ends with the namespace")
struct OutboxNamespaceTests {
    private static let json: HTTPFields = [.contentType: "application/json"]
    private static let credential = #"{"origins": ["https://example.com"], "headers": {"Cookie": "a"}}"#

    private func putCredential(_ server: TestServer) async throws {
        let reply = try await server.client.request(
            "PUT", "/@notes/credentials/key", fields: Self.json, text: Self.credential)
        #expect(reply.status == 200)
    }

    private func credentials(_ server: TestServer) async throws -> Int? {
        try await server.get("/@notes/credentials").member("credentials")?.arrayValue?.count
    }

    private func refuseDiscards(in directory: TemporaryDirectory) throws {
        try directory.executeInOutbox(
            "CREATE TRIGGER refuse BEFORE DELETE ON credentials BEGIN SELECT RAISE(ABORT, 'refused'); END")
    }

    private func allowDiscards(in directory: TemporaryDirectory) throws {
        try directory.executeInOutbox("DROP TRIGGER refuse")
    }

    @Test("A new version with outbox=discard removes the credentials, also if no change waits")
    func newVersion() async throws {
        try await TestServer.with { (server) async throws in
            try await server.putNamespace("notes", ["version": "1"])
            try await putCredential(server)
            func put(_ version: String, _ query: String) async throws {
                let reply = try await server.client.request(
                    "PUT", "/namespaces/notes" + query, fields: Self.json, text: #"{"version": "\#(version)"}"#)
                #expect(reply.status == 200)
            }
            try await put("2", "")
            #expect(try await credentials(server) == 1)
            // The entries stay, and so do the credentials.
            try await put("2", "?outbox=discard")
            #expect(try await credentials(server) == 1)
            try await put("3", "?outbox=discard")
            #expect(try await credentials(server) == 0)
        }
    }

    @Test("A new version with an outbox that cannot be discarded is no 200, and neither is the repeated call")
    func failedNewVersion() async throws {
        let directory = try TemporaryDirectory()
        func renew(_ server: TestServer) async throws -> HTTPReply {
            try await server.client.request(
                "PUT", "/namespaces/notes?outbox=discard", fields: Self.json, text: #"{"version": "2"}"#)
        }
        try await TestServer.with(directory: directory) { (server) async throws in
            try await server.putNamespace("notes", ["version": "1"])
            try await putCredential(server)
        }
        try refuseDiscards(in: directory)
        try await TestServer.with(directory: directory) { (server) async throws in
            #expect(try await renew(server).status == 500)
            #expect(try await server.get("/namespaces/notes").member("version") == "2")
            let repeated = try await renew(server)
            #expect(repeated.status == 500, "\(repeated.text)")
            #expect(try await credentials(server) == 1)
        }
        try allowDiscards(in: directory)
        try await TestServer.with(directory: directory) { (server) async throws in
            #expect(try await renew(server).status == 200)
            #expect(try await credentials(server) == 0)
        }
    }

    @Test("A removal with an outbox that cannot be discarded is no 200, and no later namespace gets the credentials")
    func failedDiscard() async throws {
        let directory = try TemporaryDirectory()
        try await TestServer.with(directory: directory) { (server) async throws in
            try await server.putNamespace("notes")
            try await putCredential(server)
        }
        try refuseDiscards(in: directory)
        try await TestServer.with(directory: directory) { (server) async throws in
            let removed = try await server.client.request("DELETE", "/namespaces/notes")
            #expect(removed.status == 500, "\(removed.text)")
            #expect(try removed.member("detail")?.stringValue?.contains("the namespace was removed, but") == true)
            #expect(try await server.get("/namespaces/notes").status == 404)
            let made = try await server.putNamespace("notes")
            #expect(made.status == 500, "\(made.text)")
        }
        try allowDiscards(in: directory)
        try await TestServer.with(directory: directory) { (server) async throws in
            #expect(try await server.putNamespace("notes").status == 200)
            #expect(try await credentials(server) == 0)
        }
    }
}
