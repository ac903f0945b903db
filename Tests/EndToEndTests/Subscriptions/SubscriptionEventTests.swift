import Foundation
import HTTPTypes
import Primitives
import TestSupport
import Testing

@Suite("The events of subscriptions")
struct SubscriptionEventTests {
    @Test("A subscription has events for its beginning, each generation and its end; a new definition has none")
    func life() async throws {
        let web = try TestWeb(["/a": "a", "/b": "b"])
        try await TestServer.with { (server) async throws in
            let listener = try await server.listen("type=subscription")
            let ends = try await server.listen("type=subscription.removed")
            for (generation, path) in [(1, "/a"), (2, "/b")] {
                try await server.subscribe("set", ["source": ["urls": [.string(web.url(path))]]])
                try await server.waitForGeneration(Int64(generation), of: "set")
            }
            #expect(try await server.client.request("DELETE", "/subscriptions/set?keep=true").status == 200)
            #expect(try await server.client.request("DELETE", "/subscriptions/set").status == 404)
            let events = try await listener.wait(for: 4)
            #expect(
                events.map(\.type) == [
                    "subscription.created", "subscription.refreshed", "subscription.refreshed", "subscription.removed",
                ])
            #expect(events.allSatisfy { $0.data["name"] == "set" && $0.data["namespace"] == "default" })
            #expect(events.map { $0.data["generation"] } == [0, 1, 2, nil])
            #expect(events[0].data["wanted"] == 0 && events[2].data["held"] == 1 && events[3].data["held"] == nil)
            #expect(try await ends.wait(for: 1).map(\.type) == ["subscription.removed"])
        }
    }

    @Test("A refused definition has no event, and the removal of a namespace has one for each subscription")
    func removedNamespace() async throws {
        let web = try TestWeb(["/a": "a"])
        try await TestServer.with { (server) async throws in
            let listener = try await server.listen("type=subscription,entry&namespace=*")
            let refused = try await server.client.request(
                "PUT", "/subscriptions/set", fields: [.contentType: "application/json"],
                text: #"{"source": {"urls": ["http://10.0.0.1/"]}}"#)
            #expect(refused.status == 403)
            try await server.putNamespace("notes")
            let put = try await server.inNamespace("notes").request(
                "PUT", "/subscriptions/set", fields: [.contentType: "application/json"],
                text: #"{"source": {"urls": ["\#(web.url("/a"))"]}}"#)
            #expect(put.status == 201)
            try await listener.wait("the first generation") { $0.type == "subscription.refreshed" }
            let events = listener.events.map(\.type)
            #expect(events.count { $0 == "subscription.created" } == 1)
            #expect(try await server.client.request("DELETE", "/namespaces/notes").status == 200)
            try await listener.wait("the end of the entries") { event in
                event.type == "entry.removed" && event.data["count"] == 1
            }
            try await listener.wait("the end of the subscription") { event in
                event.type == "subscription.removed" && event.data["namespace"] == "notes"
                    && event.data["name"] == "set"
            }
            try await server.subscribe("last", ["source": ["urls": [.string(web.url("/a"))]]])
            try await listener.wait("the last subscription") { $0.data["name"] == "last" }
            #expect(listener.events.count { $0.type == "subscription.removed" } == 1)
        }
    }

    @Test("The removal of a subscription that was lost with the state directory has its event")
    func lost() async throws {
        let web = try TestWeb(["/a": "a"])
        let directory = try TemporaryDirectory()
        try await TestServer.with(directory: directory) { (server) async throws in
            try await server.subscribe("set", ["source": ["urls": [.string(web.url("/a"))]]])
            try await server.waitForGeneration(1, of: "set")
        }
        try FileManager.default.removeItem(atPath: directory.path("state"))
        try await TestServer.with(directory: directory) { (server) async throws in
            let listener = try await server.listen("type=subscription")
            #expect(try await server.client.request("DELETE", "/subscriptions/set").status == 200)
            let event = try await listener.wait(for: 1)[0]
            #expect(event.type == "subscription.removed" && event.data["name"] == "set")
        }
    }
}
