import Foundation
import Primitives
import TestSupport
import Testing

@testable import DiskCache

@Suite("The writer's thread")
struct WriterTests {
    // Each case runs in a process of its own, because the process ends.
    @Test("A completion handler that waits for the writer ends the process with a message, not in a deadlock")
    func waitingForItself() async throws {
        let waits = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            try await WriterTests.inCompletion { _ = try? $0.writer.perform { _ in } }
        }
        let closes = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            try await WriterTests.inCompletion { $0.close() }
        }
        for result in [waits, closes] {
            let text = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
            #expect(text.contains("a completion must not wait for the writer"))
        }
    }

    @Test("The writer offers its processor to other threads during a purge, but not during later operations")
    func sharing() async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            try await cache.store("body", key: "k")
            let purgeKeeps = await withCheckedContinuation { continuation in
                cache.remove(matching: [.all]) { _ in continuation.resume(returning: Processor.turnStart == .max) }
            }
            #expect(!purgeKeeps)
            let removalKeeps = await withCheckedContinuation { continuation in
                cache.remove("k") { _ in continuation.resume(returning: Processor.turnStart == .max) }
            }
            #expect(removalKeeps)
        }
    }

    /// The error of an operation that fails before or after a change.
    private struct Failure: Error {}

    @Test(
        "An operation that fails before or after its first change undoes no other operation of its transaction",
        arguments: [false, true], Layout.allCases)
    func failureInGroup(hasChanged: Bool, _ layout: Layout) async throws {
        let fixture = try CacheFixture(layout)
        try await fixture.withCache { cache async throws in
            try await cache.store("old", key: "victim")
            let before = cache.totals
            let gate = Gate("group")
            try await cache.holdWriter(until: gate)
            let (done, runs, failures) = (Counter(), Counter(), Counter())
            func store(_ key: String) throws {
                let reservation = cache.reserve(try .data(key), kind: .data)
                try reservation.receive(Array("body of \(key)".utf8))
                reservation.publish(EntryMetadata(ttl: .seconds(100))) { _ in done.add() }
            }
            try store("first")
            cache.writer.submit { (context) -> Void in
                runs.add()
                let row = try #require(try context.index.row(forKey: "victim"))
                if hasChanged { try context.remove(row) }
                _ = context.totals.nextSequence()
                throw Failure()
            } completion: { result in
                if case .failure = result { failures.add() }
                done.add()
            }
            try store("last")
            gate.open()
            try await done.wait(for: 3)
            #expect(failures.value == 1)
            // After a change, only a second run with savepoints can undo the failed operation alone.
            #expect(runs.value == (hasChanged ? 2 : 1))
            for key in ["first", "last"] { #expect(try await cache.text(key: key) == "body of \(key)") }
            #expect(try await cache.text(key: "victim") == "old")
            #expect(cache.totals.entries == before.entries + 2)
            #expect(try cache.findings() == [])
        }
    }

    private static func inCompletion(_ body: @escaping @Sendable (DiskCache) -> Void) async throws {
        let fixture = try CacheFixture()
        let cache = try fixture.open()
        // Removes the directory now, because the process ends before the fixture does so.
        try FileManager.default.removeItem(atPath: fixture.temporary.path)
        let done = Gate("done")
        cache.flush { _ in
            body(cache)
            done.open()
        }
        try await done.wait()
    }
}
