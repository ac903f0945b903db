import Foundation
import GRDB
import HTTPTypes
import Primitives
import TestSupport
import Testing

@Suite("Subscriptions end with their namespace, or stay with it")
struct SubscriptionNamespaceTests {
    private static func execute(_ sql: String, _ directory: TemporaryDirectory) throws {
        let queue = try DatabaseQueue(path: directory.path("state/subscriptions.sqlite"))
        try queue.writeWithoutTransaction { try $0.execute(sql: sql) }
        try queue.close()
    }

    private static let definition = #"{"source": {"urls": ["http://127.0.0.1:9/a"]}, "interval": "1h"}"#

    private func names(_ server: TestServer) async throws -> [JSON?]? {
        try await server.get("/@notes/subscriptions").member("subscriptions")?.arrayValue?.map { $0["name"] }
    }

    @Test("The removal of a namespace fails before it begins if its subscriptions cannot be marked as ending")
    func failedNote() async throws {
        let directory = try TemporaryDirectory()
        try await TestServer.with(directory: directory) { (server) async throws in
            try await server.putNamespace("notes")
            let put = try await server.client.request(
                "PUT", "/@notes/subscriptions/set", fields: [.contentType: "application/json"], text: Self.definition)
            #expect(put.status == 201, "\(put.text)")
            #expect(try await server.inNamespace("notes").request("PUT", "/entries/k/content", text: "x").status == 200)
        }
        try Self.execute(
            """
            CREATE TRIGGER refuse BEFORE UPDATE OF endingSpace ON subscriptions
            BEGIN SELECT RAISE(ABORT, 'refused'); END
            """, directory)
        try await TestServer.with(directory: directory) { (server) async throws in
            for _ in 0..<2 {
                let refused = try await server.client.request("DELETE", "/namespaces/notes")
                #expect(refused.status == 500, "\(refused.text)")
                let detail = try refused.member("detail")?.stringValue
                #expect(detail?.contains("the namespace was not removed") == true, "\(refused.text)")
                #expect(try await server.inNamespace("notes").get("/entries/k/content").text == "x")
                #expect(try await names(server) == ["set"])
            }
            // Neither the subscriptions nor the outbox still wait for a removal.
            let second = try await server.client.request(
                "PUT", "/@notes/subscriptions/two", fields: [.contentType: "application/json"], text: Self.definition)
            #expect(second.status == 201, "\(second.text)")
            let credential = try await server.client.request(
                "PUT", "/@notes/credentials/key", fields: [.contentType: "application/json"],
                text: #"{"origins": ["https://example.com"], "headers": {"Cookie": "a"}}"#)
            #expect(credential.status == 200, "\(credential.text)")
        }
        try Self.execute("DROP TRIGGER refuse", directory)
        try await TestServer.with(directory: directory) { (server) async throws in
            #expect(try await names(server) == ["set", "two"])
            #expect(try await server.client.request("DELETE", "/namespaces/notes?outbox=discard").status == 200)
            try await server.putNamespace("notes")
            #expect(try await names(server) == [])
        }
    }

    @Test(
        "The removal of a namespace on a full disk gets 507, and succeeds with new space",
        .enabled(if: getuid() == 0, "only root can mount a file system"))
    func fullDisk() async throws {
        guard let disk = try SmallDisk(size: "8m") else {
            return withKnownIssue("no small file system could be mounted") { Issue.record("mount failed") }
        }
        // The server runs no upkeep, which would give space back to the disk.
        try await TestServer.with(configure: { $0.stateDirectory = disk.mount.path("state") }) {
            (server) async throws in
            try await server.putNamespace("notes")
            let put = try await server.client.request(
                "PUT", "/@notes/subscriptions/set", fields: [.contentType: "application/json"], text: Self.definition)
            #expect(put.status == 201, "\(put.text)")
            try await blocking { try disk.fill() }
            let refused = try await server.client.request("DELETE", "/namespaces/notes")
            #expect(refused.status == 507, "\(refused.text)")
            #expect(try refused.member("detail")?.stringValue?.contains("the namespace was not removed") == true)
            #expect(try await server.get("/@notes/subscriptions/set").status == 200)
            #expect(truncate(disk.mount.path("filler"), 0) == 0)
            #expect(try await server.client.request("DELETE", "/namespaces/notes").status == 200)
        }
    }
}
