import Primitives
import TestSupport
import Testing

@testable import DiskCache

@Suite("A clock that was ahead and is set back")
struct ClockTests {
    @Test(
        "After the clock was set back, an entry that is stored or requested is not evicted before older entries",
        arguments: [true, false])
    func eviction(withRestart: Bool) async throws {
        let cost = EntryRow.cost(bodyLength: 1000, isFile: false, url: nil) + 2
        let fixture = try CacheFixture { $0.diskLimit = cost * 4 * 16 / 15 + 16 }
        var cache = try fixture.open()
        defer { cache.close() }
        func store(_ key: String) async throws {
            fixture.clock.advance(by: .seconds(1))
            try await cache.store(longText(1000), key: key, ttl: .seconds(1_000_000))
            // After two flushes the writer has finished its own work, such as an eviction.
            try await cache.flush()
            try await cache.flush()
        }
        for key in ["a", "b", "c", "d"] { try await store(key) }
        fixture.clock.advance(by: .seconds(-3600))
        if withRestart {
            cache.close()
            cache = try fixture.open()
        }
        cache.recordHit(try #require(try cache.entry(for: "a")))
        try await store("e")
        #expect(try cache.keys() == ["a", "c", "d", "e"])
        try await store("f")
        #expect(try cache.keys() == ["a", "d", "e", "f"])
        // Requests the oldest entry while the clock is still far behind.
        fixture.clock.advance(by: .seconds(1))
        cache.recordHit(try #require(try cache.entry(for: "a")))
        for key in ["g", "h", "i"] { try await store(key) }
        #expect(try cache.keys() == ["a", "g", "h", "i"])
    }

    @Test("A hit after the clock was set back advances the last access date", arguments: [true, false])
    func lastAccess(isAtHand: Bool) async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            let entry = try await cache.store("1", key: "k", ttl: .seconds(1_000_000))
            _ = try await cache.stored("k")
            let hot = try #require(try await cache.stored("k")?.hot).entry
            func hit() async throws -> Timestamp {
                isAtHand ? hot.recordHit(at: fixture.clock.now()) : cache.recordHit(entry)
                let shown = try #require(try cache.entry(for: "k")).lastAccessDate
                try await cache.flush()
                let written = try #require(try cache.entry(for: "k")).lastAccessDate
                #expect(shown <= written)
                return written
            }
            fixture.clock.advance(by: .seconds(10))
            let first = try await hit()
            #expect(first == fixture.clock.now())
            fixture.clock.advance(by: .seconds(-3600))
            let second = try await hit()
            #expect(second > first)
            fixture.clock.advance(by: .seconds(1))
            let third = try await hit()
            #expect(third > second)
            #expect(third < first + .seconds(1))
            fixture.clock.advance(by: .seconds(3600))
            #expect(try await hit() == fixture.clock.now())
        }
    }

    @Test(
        "When the clock of access dates is ahead of the wall clock, it runs no faster, and reads do not advance it")
    func pace() {
        let wall = ManualClock()
        let clock = HitClock(wall, notBefore: wall.now() + .seconds(10))
        let first = clock.now()
        for _ in 0..<1000 { _ = clock.now() }
        #expect(clock.now() == first)
        wall.advance(by: .milliseconds(1))
        #expect(clock.now() == first + .milliseconds(1))
        wall.advance(by: .seconds(20))
        #expect(clock.now() == wall.now())
    }

    @Test(
        "After the clock is set back, an entry's expiry date is at most one ttl after the new time",
        arguments: [true, false])
    func freshness(isSlid: Bool) async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            if !isSlid { fixture.clock.advance(by: .seconds(86_400)) }
            let entry = try await cache.store("1", key: "k", ttl: .seconds(20))
            if isSlid {
                fixture.clock.advance(by: .seconds(86_400))
                _ = cache.slide(entry)
            }
            try await cache.flush()
            fixture.clock.advance(by: .seconds(-86_400))
            let expiry = fixture.clock.now() + .seconds(20)
            #expect(try cache.list().entries.map(\.expiryDate) == [expiry])
            #expect(try cache.entry(for: "k")?.expiryDate == expiry)
            #expect(try await cache.stored("k")?.entry.expiryDate == expiry)
            fixture.clock.advance(by: .seconds(21))
            #expect(try await cache.stored("k")?.entry.expiryDate == expiry)
        }
        try await fixture.withCache { cache async throws in
            #expect(try await cache.stored("k")?.entry.isFresh(at: fixture.clock.now()) == false)
        }
    }

    @Test("A clock that is set back by ten seconds changes no expiry date")
    func little() async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            let entry = try await cache.store("1", key: "k", ttl: .seconds(20))
            fixture.clock.advance(by: .seconds(-10))
            #expect(try await cache.stored("k")?.entry.expiryDate == entry.expiryDate)
            #expect(cache.parts.hits.isEmpty)
        }
    }
}
