import Primitives
import TestSupport
import Testing

@testable import DiskCache

@Suite("Switches that share a transaction with other operations")
struct GenerationGroupTests {
    private final class Watcher: EntryObserver {
        let changes = Recorder<String>()
        var isInterested: Bool { true }

        func entriesChanged(_ changes: [EntryChange]) {
            for change in changes {
                guard case .entry(let entry) = change.subject else { continue }
                self.changes.append("\(change.verb) \(entry.key)")
            }
        }
    }

    enum Failure: CaseIterable, Sendable {
        /// A switch finds no room.
        case switching
        /// Another operation finds the disk full after a change.
        case writing
        /// Another operation fails for another reason after a change.
        case other
    }

    @Test("An operation that fails neither undoes nor repeats those of its group", arguments: Failure.allCases)
    func group(_ failure: Failure) async throws {
        let fixture = try CacheFixture { ($0.diskLimit, $0.inlineLimit) = (4 << 20, 1000) }
        let (watcher, removals) = (Watcher(), RemovalCounters())
        let cache = try DiskCache(
            in: fixture.directory, configuration: fixture.configuration, clock: fixture.clock, observer: watcher,
            removals: removals)
        defer { cache.close() }
        try await cache.hold("a", HeldBodies.of("1"))
        for key in ["changed", "removed"] { try await cache.store(key, key: key) { $0.pinned = true } }
        let (stage, members) = try await cache.stage("a", HeldBodies.of("2"))
        let tooMuch = try await cache.stage("b", ["https://h.example/b": .some(longText(1_000_000))])
        let stored = try (0..<4).map { number in
            let reservation = cache.reserve(try .data("k\(number)"), kind: .data, pinned: true)
            try reservation.receive(Array(longText(number * 1000 + 10, "k").utf8))
            return reservation
        }
        let url = "https://h.example/d"
        let download = cache.reserve(.url(canonical: url), kind: .download, url: url)
        try download.receive(Array("purged".utf8))
        if failure == .switching { cache.setDiskLimit(500_000) }
        try await cache.flush()
        let sequence = try cache.writer.perform { $0.totals.sequence }
        watcher.changes.removeAll()

        var metadata = EntryMetadata(ttl: .seconds(9))
        metadata.pinned = true
        let gate = Gate("group")
        try await cache.holdWriter(until: gate)
        let (errors, ended) = (Recorder<String>(), Counter())
        @Sendable func end<Value>(_ name: String, _ result: Result<Value, DiskCacheError>) {
            if case .failure(let error) = result { errors.append("\(name) \(error)") }
            ended.add()
        }
        stored[0].publish(metadata) { end("k0", $0) }
        stored[1].publish(metadata) { end("k1", $0) }
        stage.publish(members) { end("switch", $0) }
        switch failure {
        case .switching: tooMuch.0.publish(tooMuch.1) { end("failure", $0) }
        case .writing, .other:
            cache.writer.submit(
                { context in
                    try context.index.execute("DELETE FROM entries", [])
                    throw failure == .writing ? DiskCacheError.noSpace : .conditionFailed
                }, completion: { end("failure", $0) })
        }
        cache.update("changed", addingTags: ["t"]) { end("changed", $0) }
        cache.remove("removed") { end("removed", $0) }
        cache.remove(matching: [EntryFilter(url: url)]) { end("purge", $0) }
        stored[2].publish(metadata) { end("k2", $0) }
        stored[3].publish(metadata) { end("k3", $0) }
        gate.open()
        try await ended.wait(for: 9)

        #expect(errors.elements == ["failure \(failure == .other ? DiskCacheError.conditionFailed : .noSpace)"])
        let keys = HeldBodies.urls.map { CacheKey.url(canonical: $0).text }
        // The order within a switch is arbitrary.
        let expected = (0..<4).map { "stored k\($0)" } + keys.map { "stored \($0)" } + ["removed removed"]
        #expect(watcher.changes.elements.sorted() == expected.sorted())
        #expect(removals.count(of: .purged) == 1)
        // Each publish takes one number: four stores and six members.
        #expect(try cache.writer.perform { $0.totals.sequence } == sequence + 10)
        #expect(try cache.generation(of: "a") == HeldGeneration(number: 2, count: 6))
        #expect(try cache.generation(of: "b") == nil)
        for (number, url) in HeldBodies.urls.enumerated() {
            #expect(try await cache.text(url: url) == HeldBodies.body(number, "2"))
        }
        for number in 0..<4 { #expect(try await cache.text(key: "k\(number)") == longText(number * 1000 + 10, "k")) }
        #expect(try cache.entry(for: "changed")?.tags == ["t"])
        #expect(try cache.entry(for: "removed") == nil)
        #expect(download.isPurged)
        // The memory tier and the slot table take values again.
        _ = try cache.load(keys[0])
        #expect(cache.parts.memory.peek(keys[0]) != nil)
        tooMuch.0.abandon()
        try await cache.awaitNoDroppedCaptures()
        #expect(try cache.findings() == [])
    }

    @Test("A stage that found no room still has its bodies when it is published again", arguments: [20, 60_000])
    func publishedAgain(_ length: Int) async throws {
        let fixture = try CacheFixture { ($0.diskLimit, $0.inlineLimit) = (4 << 20, 1000) }
        try await fixture.withCache { cache async throws in
            try await cache.hold("a", HeldBodies.of("1"))
            let (url, body) = (HeldBodies.urls[0], longText(length, "new"))
            let (stage, members) = try await cache.stage("a", [url: .some(body), "https://h.example/b": .some(body)])
            try await cache.store(longText(300_000), key: "pinned") { $0.pinned = true }
            cache.setDiskLimit(1000)
            let others = HeldBodies.urls.dropFirst().map { stage.member(.url(canonical: $0), url: $0) }
            await #expect(throws: DiskCacheError.noSpace) { _ = try await stage.publish(members + others) }
            #expect(try await cache.text(url: url) == HeldBodies.body(0, "1"))
            cache.setDiskLimit(4 << 20)
            #expect(try await stage.publish(members) == GenerationSwitch(generation: 2, held: 2, lost: [:]))
            #expect(try await cache.text(url: url) == body)
            try await cache.awaitNoDroppedCaptures()
            #expect(try cache.findings() == [])
        }
    }
}
