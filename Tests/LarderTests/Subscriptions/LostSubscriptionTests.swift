import Foundation
import Primitives
import TestSupport
import Testing

@testable import Larder

@Suite("Copies of subscriptions that are lost with the state directory")
struct LostSubscriptionTests {
    private static let warning = "is not in the state directory, and keeps them"

    /// Holds two copies with the subscription `set`, and restarts the server without its state directory.
    private func withLoss(_ body: (TestSubscriptions, TestWeb) async throws -> Void) async throws {
        try await TestSubscriptions.withOne { test in
            let web = try TestWeb(["/a": "a1", "/b": "b1"])
            try await test.put("set", Self.definition(web))
            try await test.wait("set", generation: 1)
            let (state, away) = (test.temporary.path("state"), test.temporary.path("away"))
            try await test.restart { try FileManager.default.moveItem(atPath: state, toPath: away) }
            try await body(test, web)
        }
    }

    private static func definition(_ web: TestWeb) -> JSON {
        let urls: [JSON] = ["/a", "/b"].map { .string(web.url($0)) }
        return ["source": ["urls": .array(urls)], "maxDelay": 0]
    }

    private func isHeld(_ url: String, _ test: TestSubscriptions) async throws -> Bool? {
        try await test.cache.stored(test.key(url))?.entry.held
    }

    @Test("The copies of a lost subscription stay held, and a warning names it with the number of its entries")
    func warning() async throws {
        try await withLoss { test, web in
            let line = try await test.waitForLine(Self.warning)
            #expect(line.hasPrefix("warning") && line.contains("\"entries\": 2") && line.contains("DELETE"))
            #expect(line.contains("\"subscription\": set") && line.contains("\"namespace\": default"))
            #expect(try await isHeld(web.url("/a"), test) == true)
            await #expect(throws: SubscriptionFailure.self) { try await test.report("set") }
        }
    }

    @Test("The removal of a lost subscription releases its copies, or removes them", arguments: [true, false])
    func removal(keepingCopies: Bool) async throws {
        try await withLoss { test, web in
            #expect(try await test.remove("set", keepingCopies: keepingCopies) == 2)
            #expect(try await isHeld(web.url("/a"), test) == (keepingCopies ? false : nil))
            await #expect(throws: SubscriptionFailure.self) {
                try await test.remove("set", keepingCopies: keepingCopies)
            }
            try await test.put("set", Self.definition(web))
            #expect(try await test.wait("set", generation: 1).generation == 1)
        }
    }

    @Test("While the copies of a lost subscription are released, no subscription of its name begins")
    func overlap() async throws {
        try await withLoss { test, web in
            let definition = try SubscriptionDefinition(name: "set", Self.definition(web))
            let results = await withCheckedContinuation { continuation in
                let put = Recorder<String>()
                // Both calls wait in the queue, so the second one comes before the end of the first one.
                test.service.queue.suspend()
                test.service.remove("set", in: "default", keepingCopies: true) { result in
                    continuation.resume(returning: put.elements + ["removed \((try? result.get()) ?? -1)"])
                }
                test.service.put(definition, in: "default") { result in
                    if case .failure(.ending) = result { put.append("refused") } else { put.append("\(result)") }
                }
                test.service.queue.resume()
            }
            #expect(results == ["refused", "removed 2"])
        }
    }

    @Test("A state directory that was not mounted at one start finds its copies at the next")
    func unmounted() async throws {
        try await withLoss { test, web in
            _ = try await test.waitForLine(Self.warning)
            let (count, state) = (web.origin.requestCount, test.temporary.path("state"))
            let away = test.temporary.path("away")
            try await test.restart {
                try? FileManager.default.removeItem(atPath: state)
                try FileManager.default.moveItem(atPath: away, toPath: state)
            }
            let report = try await test.wait("set") { $0.generation == 1 && !$0.isRefreshing }
            #expect(report.held == 2 && report.state == .complete && web.origin.requestCount == count)
            #expect(test.log.lines.elements.count { $0.contains(Self.warning) } == 1)
        }
    }

    @Test("A subscription that is made again after the loss holds its old copies, also while the origin is away")
    func madeAgain() async throws {
        try await withLoss { test, web in
            for path in ["/a", "/b"] { web[path] = .init(status: 503) }
            let begun = test.clock.now()
            test.turn(.seconds(60))
            try await test.put("set", Self.definition(web))
            let report = try await test.wait("set") { $0.generation == 2 && !$0.isRefreshing }
            #expect(report.held == 2 && report.missingCount == 0 && report.oldest == begun)
            for (path, body) in [("/a", "a1"), ("/b", "b1")] {
                #expect(try await isHeld(web.url(path), test) == true)
                #expect(try await test.body(web.url(path)) == body)
            }
            web["/a"] = .init(body: "a2")
            web["/b"] = .init(body: "b1")
            try await test.refresh("set")
            try await test.wait("set") { $0.generation >= 3 && !$0.isRefreshing && $0.sourceProblem == nil }
            #expect(try await test.body(web.url("/a")) == "a2")
        }
    }
}
