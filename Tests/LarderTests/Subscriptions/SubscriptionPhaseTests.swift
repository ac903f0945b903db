import DiskCache
import Foundation
import HTTPTypes
import Primitives
import Subscriptions
import TestSupport
import Testing

@testable import Larder

@Suite("Beginnings and ends of a server's subscriptions")
struct SubscriptionPhaseTests {
    private static func definition(_ web: TestWeb, _ paths: [String], _ more: [JSON.Member] = []) -> JSON {
        let urls = JSON.array(paths.map { .string(web.url($0)) })
        return .object([.init("source", .object([.init("urls", urls)]))] + more)
    }

    /// The requests that an origin answers at the same time.
    private final class Running: Sendable {
        let counts = Locked((now: 0, most: 0))
    }

    @Test("A kill between a switch and its save keeps the members that the switch brought")
    func killAfterSwitch() async throws {
        try await TestSubscriptions.withOne { test in
            let web = try TestWeb(["/new": "new"])
            try await test.put("set", Self.definition(web, ["/old", "/new"]))
            #expect(try await test.wait("set", generation: 1).held == 1)
            let state = test.temporary.path("state")
            let (old, new) = (try test.key(web.url("/old")), try test.key(web.url("/new")))
            web["/new"] = .init(status: 503)
            web["/old"] = .init(status: 503)
            try await test.restart {
                // The state as it was before the switch.
                let store = try SubscriptionStore(directory: state)
                defer { store.close() }
                let record = try #require(try store.all().first)
                var members = try store.members(of: record.id)
                for index in members.indices {
                    members[index].member.hasCopy = members[index].member.item.key == old
                    members[index].member.problem = nil
                }
                try store.save(record.id, record.source, changed: members, removed: [])
            }
            try await test.wait("set") { $0.generation >= 1 && $0.held == 1 }
            #expect(try await test.cache.stored(new)?.entry.held == true)
            #expect(try await test.body(web.url("/new")) == "new")
        }
    }

    @Test("After the loss of the cache a subscription has no generation until it has copies")
    func lostCache() async throws {
        try await TestSubscriptions.withOne { test in
            let web = try TestWeb(["/a": "a1"])
            try await test.put("set", Self.definition(web, ["/a"]))
            try await test.wait("set", generation: 1)
            web["/a"] = .init(status: 503)
            let path = test.temporary.path("cache")
            try await test.restart { try FileManager.default.removeItem(atPath: path) }
            let report = try await test.wait("set") { $0.missing.first?.reason != nil }
            #expect(report.state == .pending && report.generation == 0 && report.wanted == 1)
            web["/a"] = .init(body: "a2")
            try await test.refresh("set")
            // The requested refresh may have ended the running one, and a second one.
            #expect(try await test.wait("set") { $0.held == 1 }.generation >= 1)
        }
    }

    @Test("A refresh that is requested before the set is open is not lost, and its items are listed")
    func earlyCalls() async throws {
        try await TestSubscriptions.withOne { test in
            let web = try TestWeb(["/a": "a1"])
            try await test.put("set", Self.definition(web, ["/a"]))
            try await test.wait("set", generation: 1)
            for version in 2...6 {
                web["/a"] = .init(body: "a\(version)")
                try await test.restart()
                #expect(try await test.refresh("set").isRefreshing)
                #expect(try await test.items("set").map(\.url) == [web.url("/a")])
                try await test.wait("set", generation: Int64(version))
                #expect(try await test.body(web.url("/a")) == "a\(version)")
            }
        }
    }

    @Test("The answer to a new definition has the generation and the copies of the subscription")
    func reportOfRedefinition() async throws {
        try await TestSubscriptions.withOne { test in
            let web = try TestWeb(["/a": "a1"])
            let first = try await test.put("set", Self.definition(web, ["/a"]))
            #expect(first.state == .pending && first.generation == 0 && first.isRefreshing)
            try await test.wait("set", generation: 1)
            let report = try await test.put("set", Self.definition(web, ["/a"], [.init("interval", "2h")]))
            #expect(report.generation == 1 && report.held == 1 && report.state == .complete && report.isRefreshing)
        }
    }

    @Test("A subscription that ends right after its definition, or a restart, ends at once")
    func earlyEnd() async throws {
        try await TestSubscriptions.withOne { test in
            let web = try TestWeb(["/a": "a1"])
            for round in 0..<10 {
                try await test.put("set", Self.definition(web, ["/a"]))
                if round % 2 == 0 {
                    try await test.wait("set", generation: 1)
                    try await test.restart()
                }
                try await test.remove("set", keepingCopies: false)
                #expect(try await test.body(web.url("/a")) == nil)
            }
        }
    }

    @Test("All subscriptions together have a limited number of requests for members, and every request has its turn")
    func requestLimit() async throws {
        let (gate, running) = (Gate(), Running())
        let origin = try ScriptedOrigin { _, connection in
            running.counts.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
            try gate.waitBlocking()
            running.counts.withLock { $0.now -= 1 }
            try connection.respond(body: "body")
        }
        defer { gate.open() }
        try await TestSubscriptions.withOne { test in
            test.service.queue.sync { test.service.memberRequestLimit = 3 }
            for name in ["one", "two"] {
                let urls = (0..<8).map { JSON.string(origin.url("/\(name)/\($0)")) }
                try await test.put(name, ["source": ["urls": .array(urls)], "concurrencyPerHost": 16])
            }
            try await test.wait("one") { _ in running.counts.withLock { $0.now } == 3 }
            gate.open()
            for name in ["one", "two"] { #expect(try await test.wait(name, generation: 1).held == 8) }
            #expect(running.counts.withLock { $0.most } == 3 && origin.requestCount == 16)
            #expect(test.service.queue.sync { test.service.memberRequestCount } == 0)
        }
    }

    @Test("A new definition or the end of a subscription cancels its requests, so that others get the host's turn")
    func cancelledRequests() async throws {
        let gate = Gate()
        let origin = try ScriptedOrigin { request, connection in
            if request.target != "/fast" { try gate.waitBlocking() }
            try connection.respond(body: "body")
        }
        defer { gate.open() }
        try await TestSubscriptions.withOne { test in
            func definition(_ source: JSON) -> JSON { ["source": source, "interval": "1h"] }
            try await test.put("member", definition(["urls": [.string(origin.url("/slow"))]]))
            try await test.wait("member") { _ in origin.requestCount == 1 }
            try await test.put("member", definition(["feed": .string(origin.url("/feed"))]))
            try await test.wait("member") { _ in origin.requestCount == 2 }
            try await test.remove("member", keepingCopies: false)
            try await test.put("other", definition(["urls": [.string(origin.url("/fast"))]]))
            #expect(try await test.wait("other", generation: 1).held == 1)
        }
    }
}
