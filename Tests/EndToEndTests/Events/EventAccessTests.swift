import HTTPTypes
import Larder
import Primitives
import TestSupport
import Testing

@Suite("Access to events")
struct EventAccessTests {
    private static let namespaces = ["default", "a", "b"]

    private func put(_ key: String, in namespaces: [String], of server: TestServer, _ tokens: TestTokens) async throws {
        for namespace in namespaces {
            let reply = try await server.client.request(
                "PUT", "/entries/\(key)/content", fields: tokens.fields("me", for: "/entries", in: namespace), text: "x"
            )
            #expect(reply.status == 200)
        }
    }

    @Test("A listener gets only the events of its token's namespaces, and a call for another namespace is refused")
    func namespaces() async throws {
        let tokens = try TestTokens([
            .init(name: "me", namespaces: nil), .init(name: "a", scopes: [.read], namespaces: ["a"]),
            .init(name: "ab", scopes: [.read], namespaces: ["a", "b"]),
            .init(name: "writer", scopes: [.write], namespaces: ["a"]),
        ])
        try await TestServer.with(tokens: tokens.store) { (server) async throws in
            for name in ["a", "b"] {
                let made = try await server.client.request(
                    "PUT", "/namespaces/\(name)", fields: tokens.fields("me", for: "/namespaces"))
                #expect(made.status == 200)
            }
            func listen(_ name: String, _ query: String = "", in namespace: String? = nil) async throws -> EventListener
            {
                try await server.listen(query, fields: tokens.fields(name, for: "/events", in: namespace))
            }
            let listeners: [(EventListener, [String])] = [
                (try await listen("me"), ["default"]), (try await listen("me", in: "b"), ["b"]),
                (try await listen("me", "namespace=*"), ["default", "a", "b"]),
                (try await listen("me", "namespace=a", in: "b"), ["a"]),
                (try await listen("a"), ["a"]), (try await listen("a", "namespace=*"), ["a"]),
                (try await listen("ab", "namespace=*"), ["a", "b"]), (try await listen("ab", "namespace=b"), ["b"]),
            ]
            try await put("x", in: Self.namespaces, of: server, tokens)
            try await put("end", in: Self.namespaces, of: server, tokens)
            for (listener, expected) in listeners {
                let events = try await listener.wait(for: 2 * expected.count)
                #expect(events.prefix(expected.count).compactMap { $0.data["namespace"]?.stringValue } == expected)
                #expect(events.count == 2 * expected.count)
            }
            for (name, query, namespace, status) in [
                ("a", "namespace=b", nil, 403), ("a", "namespace=none", nil, 403), ("a", "", "b", 403),
                ("ab", "", nil, 403), ("me", "namespace=none", nil, 404), ("writer", "", nil, 403),
                ("writer", "namespace=*", nil, 403),
            ] as [(String, String, String?, Int)] {
                let reply = try await server.get(
                    "/events?\(query)", fields: tokens.fields(name, for: "/events", in: namespace))
                #expect(reply.status == status, "\(name) \(query)")
            }
            #expect(try await server.get("/events").status == 401)
        }
    }

    @Test("The revocation of a token ends the event streams of this token, and other tokens' streams go on")
    func revoked() async throws {
        var limits = EventHub.Limits()
        limits.heartbeat = .milliseconds(20)
        let tokens = try TestTokens([.init(name: "me"), .init(name: "other")])
        try await TestServer.with(tokens: tokens.store, eventLimits: limits) { (server) async throws in
            let mine = try await server.listen(fields: tokens.fields("me", for: "/events"))
            let other = try await server.listen(fields: tokens.fields("other", for: "/events"))
            try tokens.revoke("other")
            try await poll("the end of the revoked token's stream") { other.hasEnded }
            #expect(other.isWhole)
            let heartbeats = mine.heartbeats
            try await poll("heartbeats") { mine.heartbeats > heartbeats + 1 }
            #expect(!mine.hasEnded)
        }
    }

    @Test("When a namespace gets a new version or is removed, one event reports the number of removed entries")
    func namespaceEnds() async throws {
        try await TestServer.with { (server) async throws in
            try await server.putNamespace("a", ["version": "1"])
            let space = server.inNamespace("a")
            for number in 0..<3 { try await space.request("PUT", "/entries/\(number)/content", text: "x") }
            let listener = try await server.listen("namespace=*")
            try await server.putNamespace("a", ["version": "2"])
            let anew = try await listener.wait(for: 1)[0]
            #expect(anew.type == "entry.removed")
            #expect(anew.data["namespace"] == "a" && anew.data["count"] == 3 && anew.data["selector"] == [:])
            try await space.request("PUT", "/entries/new/content", text: "x")
            #expect(try await server.client.request("DELETE", "/namespaces/a").status == 200)
            let events = try await listener.wait(for: 3)
            #expect(events.map(\.type).suffix(2) == ["entry.stored", "entry.removed"])
            #expect(events[2].data["count"] == 1)
            // The removal of an empty namespace emits no event.
            try await server.putNamespace("b")
            #expect(try await server.client.request("DELETE", "/namespaces/b").status == 200)
            try await server.put("last", [1])
            #expect(try await listener.wait(for: 4)[3].key == "last")
        }
    }
}
