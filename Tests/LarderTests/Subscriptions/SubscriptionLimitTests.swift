import Primitives
import TestSupport
import Testing

@testable import Larder

@Suite("Limits of all subscriptions of a namespace")
struct SubscriptionLimitTests {
    @Test("Definitions that are too long together are refused; a replaced definition no longer counts")
    func definitions() async throws {
        try await TestSubscriptions.withOne { test in
            let web = try TestWeb()
            func definition(_ length: Int) -> JSON {
                ["source": ["urls": [.string(web.url("/" + String(repeating: "a", count: length)))]], "maxDelay": 0]
            }
            test.service.queue.sync { test.service.definitionLimit = 4000 }
            try await test.put("one", definition(2000))
            await #expect(throws: SubscriptionFailure.self) { try await test.put("two", definition(2000)) }
            // The length of the new definition counts, and not the length of the old one.
            try await test.put("one", definition(3000))
            await #expect(throws: SubscriptionFailure.self) { try await test.put("one", definition(4000)) }
            try await test.put("one", definition(100))
            try await test.put("two", definition(2000))
            let names = try await test.names()
            #expect(names == ["one", "two"])
        }
    }

    @Test("A list that would exceed the resources of the namespace is not taken, and the older list stays")
    func resources() async throws {
        try await TestSubscriptions.withOne { test in
            let web = try TestWeb(["/1": "1", "/2": "2", "/3": "3", "/4": "4"])
            web["/feed"] = .init(body: web.feed(["/1"]))
            test.service.queue.sync { test.service.resourceLimit = 3 }
            try await test.put("set", ["source": ["urls": [.string(web.url("/3")), .string(web.url("/4"))]]])
            try await test.wait("set", generation: 1)
            try await test.put("news", ["source": ["feed": .string(web.url("/feed"))]])
            #expect(try await test.wait("news", generation: 1).held == 1)
            web["/feed"] = .init(body: web.feed(["/2", "/1"]))
            try await test.refresh("news")
            let report = try await test.wait("news") { $0.sourceProblem != nil }
            #expect(
                report.sourceProblem?.reason
                    == "the subscriptions of the namespace hold at most 3 resources, and would hold 4; "
                    + "remove some, or set latest")
            #expect(report.held == 1 && report.wanted == 1)
            try await test.remove("set", keepingCopies: false)
            web["/feed"] = .init(body: web.feed(["/1", "/2"]))
            try await test.refresh("news")
            #expect(try await test.wait("news") { $0.wanted == 2 && $0.held == 2 }.sourceProblem == nil)
        }
    }

    @Test("The dates of members that have left the source are forgotten")
    func leavingMembers() async throws {
        try await TestSubscriptions.withOne { test in
            let web = try TestWeb(["/0": "0", "/1": "1", "/2": "2", "/3": "3"])
            func list(_ numbers: ClosedRange<Int>) -> TestWeb.Document {
                let items = numbers.map { "<item><link>\(web.url("/\($0)"))</link></item>" }
                return .init(body: "<rss><channel>\(items.joined())</channel></rss>")
            }
            web["/feed"] = list(0...2)
            try await test.put("set", ["source": ["feed": .string(web.url("/feed"))], "interval": "1d"])
            try await test.wait("set", generation: 1)
            web["/feed"] = list(1...3)
            try await test.refresh("set")
            #expect(try await test.wait("set", generation: 2).held == 3)
            let dated = test.service.queue.sync { test.service.sets.values.map { Set($0.confirmed.keys) } }
            #expect(dated == [Set(try (1...3).map { try test.key(web.url("/\($0)")) })])
        }
    }
}
