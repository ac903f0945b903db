import GRDB
import Primitives
import TestSupport
import Testing

@testable import DiskCache

@Suite("The eviction from disk")
struct DiskEvictionTests {
    private static let limit: Int64 = 400_000

    /// Stores `count` entries that are never requested again, one after the other.
    private static func scan(_ cache: DiskCache, _ count: Int, _ name: String) async throws {
        for number in 0..<count { try await cache.store(longText(1000), key: "\(name) \(number)") }
        try await cache.flush()
    }

    private static func hit(_ cache: DiskCache, _ key: String) throws {
        cache.recordHit(try #require(try cache.entry(for: key)))
    }

    @Test(
        "Entries that were read before a restart survive many stores of other entries after the restart",
        arguments: Layout.allCases)
    func restart(_ layout: Layout) async throws {
        let fixture = try CacheFixture(layout) { $0.diskLimit = Self.limit }
        let hot = (0..<10).map { "hot \($0)" }
        try await fixture.withCache { cache async throws in
            for key in hot { try await cache.store(longText(1000), key: key) }
            for key in hot { try Self.hit(cache, key) }
        }
        try await fixture.withCache { cache async throws in
            try await Self.scan(cache, 500, "once")
            #expect(try hot.filter { try cache.entry(for: $0) == nil } == [])
        }
        // After the second restart, the entries still have their places in the queues.
        try await fixture.withCache { cache async throws in
            try await Self.scan(cache, 500, "again")
            #expect(try hot.filter { try cache.entry(for: $0) == nil } == [])
            #expect(try cache.entry(for: "once 0") == nil)
            #expect(try cache.findings() == [])
        }
    }

    @Test("A large body that was just stored is not evicted, although all other entries were requested")
    func large() async throws {
        let fixture = try CacheFixture { $0.diskLimit = 4_000_000 }
        try await fixture.withCache { cache async throws in
            for number in 0..<39 {
                try await cache.store(longText(90_000), key: "hot \(number)")
                try Self.hit(cache, "hot \(number)")
                try await cache.flush()
            }
            for number in 0..<5 {
                // The body takes more than a tenth of the limit. Beside it, less than the head-room is free.
                try await cache.store(longText(450_000), key: "large \(number)")
                try await cache.flush()
                try await cache.flush()
                #expect(try cache.entry(for: "large \(number)") != nil)
            }
            // Large bodies without hits evict one another, but hardly any of the entries with hits.
            let hot = try (0..<39).count { try cache.entry(for: "hot \($0)") != nil }
            #expect(hot >= 35)
            #expect(cache.totals.diskBytes <= 4_000_000)
            #expect(try cache.findings() == [])
        }
    }

    /// Fills some 3.7 of 4 million bytes with entries of 8,000 bytes each, and requests each of them if `areInUse`.
    private static func fill(_ cache: DiskCache, areInUse: Bool) async throws {
        for number in 0..<400 {
            try await cache.store(longText(8000), key: "small \(number)")
            if areInUse { try hit(cache, "small \(number)") }
        }
        try await cache.flush()
        // Fills the cache until little more than the head-room is free.
        var number = 0
        while cache.totals.diskBytes < 3_735_000 {
            try await cache.store(longText(8000), key: "more \(number)")
            if areInUse { try hit(cache, "more \(number)") }
            number += 1
        }
        try await cache.flush()
    }

    @Test("A large body with a long ETag is not evicted, although its announced length did not include the ETag")
    func largeWithTexts() async throws {
        let fixture = try CacheFixture { $0.diskLimit = 4_000_000 }
        try await fixture.withCache { cache async throws in
            try await Self.fill(cache, areInUse: true)
            let long = longText(300_000, "etag")
            for number in 0..<3 {
                try await cache.store(longText(450_000), key: "large \(number)") { $0.etag = long }
                try await cache.flush()
                try await cache.flush()
                #expect(try cache.entry(for: "large \(number)") != nil)
                #expect(cache.totals.diskBytes <= 4_000_000)
            }
        }
    }

    @Test("A large body is not evicted right after its store, even if it replaces the entry that is next for eviction")
    func largeInPlaceOfOld() async throws {
        let fixture = try CacheFixture { $0.diskLimit = 4_000_000 }
        try await fixture.withCache { cache async throws in
            try await cache.store(longText(8000), key: "grown")
            try await Self.fill(cache, areInUse: false)
            try await cache.store(longText(240_000), key: "grown")
            try await cache.flush()
            try await cache.flush()
            #expect(try cache.entry(for: "grown") != nil)
            #expect(try cache.entry(for: "small 0") == nil)
        }
    }

    @Test("Pinned entries survive a thousand stores of other entries")
    func pinned() async throws {
        let fixture = try CacheFixture { $0.diskLimit = Self.limit }
        try await fixture.withCache { cache async throws in
            let pinned = (0..<20).map { "pinned \($0)" }
            for key in pinned { try await cache.store(longText(1000), key: key) { $0.pinned = true } }
            fixture.clock.advance(by: .seconds(1000))
            try await Self.scan(cache, 1000, "once")
            #expect(try pinned.filter { try cache.entry(for: $0) == nil } == [])
            #expect(try cache.findings() == [])
        }
    }

    @Test("An entry that is stored again keeps its place in the eviction queues and counts as requested")
    func storedAgain() async throws {
        let fixture = try CacheFixture { $0.diskLimit = Self.limit }
        try await fixture.withCache { cache async throws in
            for text in ["1", "2"] { try await cache.store(longText(1000, text), key: "again") }
            try await Self.scan(cache, 1000, "once")
            #expect(try await cache.text(key: "again") == longText(1000, "2"))
        }
    }

    @Test("The ghosts of evicted entries count in the memory limit")
    func memory() async throws {
        let fixture = try CacheFixture { ($0.diskLimit, $0.memoryLimit) = (Self.limit, 100_000) }
        try await fixture.withCache { cache async throws in
            try await Self.scan(cache, 1000, "once")
            let held = cache.parts.memory.bytesReserved - cache.memoryStatistics.bytes
            #expect(held > 0)
            #expect(held <= cache.totals.entries * 16 + 72)
        }
    }

    @Test("Without a memory tier the eviction keeps no ghosts, but still spares requested entries")
    func withoutMemory() async throws {
        let fixture = try CacheFixture { ($0.diskLimit, $0.memoryLimit) = (Self.limit, 0) }
        try await fixture.withCache { cache async throws in
            try await cache.store(longText(1000), key: "hot")
            try Self.hit(cache, "hot")
            try await Self.scan(cache, 1000, "once")
            #expect(cache.parts.memory.bytesReserved == 0)
            #expect(try cache.entry(for: "hot") != nil)
        }
    }
}
