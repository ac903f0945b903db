import Foundation
import Primitives
import TestSupport
import Testing

@testable import DiskCache

@Suite("Hits and sliding expiry")
struct HitTests {
    private let url = "http://h/a"

    @Test("Hits and the expiry dates that they renew show in every read immediately, and survive a close of the cache")
    func overlay() async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            let entry = try await cache.store("1", url: url, ttl: .seconds(20))
            fixture.clock.advance(by: .seconds(15))
            let now = fixture.clock.now()
            cache.recordHit(entry)
            cache.recordHit(entry)
            let slid = cache.slide(entry, ttl: .seconds(30))
            #expect(slid.expiryDate == now + .seconds(30))
            #expect(slid.ttl == .seconds(30))
            let shown = [
                try #require(try cache.entry(url: url)), try cache.list().entries[0],
                try #require(try await cache.stored(entry.key)).entry,
                try #require(try await cache.stored(entry.key)).entry,
            ]
            for entry in shown {
                #expect(entry.hits == 2)
                #expect(entry.lastAccessDate == now)
                #expect(entry.expiryDate == now + .seconds(30))
                #expect(entry.ttl == .seconds(30))
            }
        }
        try await fixture.withCache { cache async throws in
            let entry = try #require(try cache.entry(url: url))
            #expect(entry.hits == 2)
            #expect(entry.lastAccessDate == fixture.clock.now())
            #expect(entry.expiryDate == fixture.clock.now() + .seconds(30))
            #expect(entry.ttl == .seconds(30))
            #expect(cache.slide(entry).expiryDate == fixture.clock.now() + .seconds(30))
        }
    }

    @Test("Hits of two canonically equivalent keys are written and shown for each key separately")
    func lookAlikes() async throws {
        let fixture = try CacheFixture()
        let keys = ["caf\u{e9}", "cafe\u{301}"]
        try await fixture.withCache { cache async throws in
            for (count, key) in zip([1, 5], keys) {
                let entry = try await cache.store("1", key: key)
                _ = try await cache.stored(key)
                for _ in 0..<count { cache.recordHit(entry) }
            }
            try await cache.flush()
            // Reads from memory, and from the index.
            for (count, key) in zip([1, 5] as [Int64], keys) {
                #expect(try await cache.stored(key)?.entry.hits == count)
                #expect(try cache.entry(for: key)?.hits == count)
            }
        }
    }

    @Test("After a flush, an entry in the memory tier shows the written hits and the renewed expiry date")
    func memoryAfterFlush() async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            let entry = try await cache.store("1", url: url, ttl: .seconds(20))
            _ = try await cache.stored(entry.key)
            fixture.clock.advance(by: .seconds(5))
            cache.recordHit(entry)
            _ = cache.slide(entry)
            try await cache.flush()
            #expect(cache.parts.hits.isEmpty)
            guard case .hit(let stored) = try cache.load(entry.key) else {
                Issue.record("the entry is gone")
                return
            }
            #expect(cache.memoryStatistics.hits == 1)
            #expect(stored.entry.hits == 1)
            #expect(stored.entry.expiryDate == fixture.clock.now() + .seconds(20))
        }
    }

    @Test("Hits are written to the index in the background, without a further request")
    func writtenDown() async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            let entry = try await cache.store("1", url: url)
            cache.recordHit(entry)
            #expect(try cache.parts.reader.row(forKey: entry.key)?.entry.hits == 0)
            try await poll("hits in the index") {
                try cache.parts.reader.row(forKey: entry.key)?.entry.hits == 1
            }
        }
    }

    @Test("Hits and renewed expiry dates of a replaced or removed entry do not affect the next entry of the key")
    func otherVersion() async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            let first = try await cache.store("1", url: url, ttl: .seconds(20))
            cache.recordHit(first)
            _ = cache.slide(first, ttl: .seconds(1000))
            let second = try await cache.store("2", url: url, ttl: .seconds(20))
            cache.recordHit(first)
            #expect(try cache.entry(url: url)?.hits == 0)
            try await cache.flush()
            let entry = try #require(try cache.entry(url: url))
            #expect(entry.hits == 0)
            #expect(entry.expiryDate == second.expiryDate)
            try await cache.remove(first.key)
            cache.recordHit(second)
            try await cache.flush()
            #expect(try cache.entry(url: url) == nil)
        }
    }

    @Test("An update of the ttl overrides an expiry date that an earlier hit renewed")
    func updateAfterSlide() async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            let entry = try await cache.store("1", url: url, ttl: .seconds(20), tags: ["a"])
            cache.recordHit(entry)
            _ = cache.slide(entry, ttl: .seconds(1000))
            let updated = try #require(
                try await cache.update(entry.key, ttl: .seconds(5), tags: ["b", "c"], pinned: true))
            try await cache.flush()
            for entry in [updated, try #require(try cache.entry(url: url))] {
                #expect(entry.expiryDate == fixture.clock.now() + .seconds(5))
                #expect(entry.tags == ["b", "c"])
                #expect(entry.pinned)
                #expect(entry.hits == 1)
            }
            #expect(try await cache.remove(matching: EntryFilter(tag: "a")) == 0)
            #expect(try await cache.remove(matching: EntryFilter(tag: "c")) == 1)
        }
    }

    @Test("An update with a ttl of 0 makes a download stale and removes a caller's data")
    func updateToZero() async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            let download = try await cache.store("1", url: url)
            let data = try await cache.store("1", key: "k")
            _ = try await cache.stored(download.key)
            let updated = try #require(try await cache.update(download.key, ttl: .zero))
            #expect(!updated.isFresh(at: fixture.clock.now()))
            #expect(try await cache.stored(download.key)?.entry.isFresh(at: fixture.clock.now()) == false)
            #expect(try await cache.update(data.key, ttl: .zero) == nil)
            #expect(try cache.entry(for: "k") == nil)
            #expect(try await cache.update("k", pinned: true) == nil)
        }
    }

    @Test("A purged or replaced body is not served from memory")
    func memoryInvalidation() async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            try await cache.store("1", url: url, tags: ["t"])
            for _ in 0..<2 { #expect(try await cache.text(url: url) == "1") }
            #expect(cache.memoryStatistics.count == 1)
            try await cache.store("2", url: url, tags: ["t"])
            for _ in 0..<2 { #expect(try await cache.text(url: url) == "2") }
            try await cache.remove(matching: EntryFilter(tag: "t"))
            #expect(try await cache.text(url: url) == nil)
            #expect(cache.memoryStatistics.count == 0)
        }
    }

    @Test("The log drops the hits of a key after a completed flush, and restores them after a cancelled flush")
    func log() {
        let log = HitLog(HitClock(ManualClock(), notBefore: Timestamp(seconds: 1)))
        let now = Timestamp(seconds: 1)
        #expect(log.note(PendingHits(version: 1, hits: 1, lastAccess: now), for: "k"))
        #expect(!log.note(PendingHits(version: 1, hits: 1, lastAccess: now), for: "k"))
        let first = log.beginFlush()
        #expect(first.items.map(\.pending.hits) == [2])
        #expect(log.pending("k")?.hits == 2)
        _ = log.note(PendingHits(version: 1, hits: 1, lastAccess: now), for: "k")
        #expect(log.pending("k")?.hits == 3)
        log.cancelFlush(first)
        #expect(log.pending("k")?.hits == 3)
        log.endFlush(log.beginFlush(only: "k"))
        #expect(log.pending("k") == nil)
        #expect(log.isEmpty)
        _ = log.note(PendingHits(version: 3, hits: 1), for: "k")
        _ = log.note(PendingHits(version: 2, hits: 1), for: "k")
        #expect(log.pending("k") == PendingHits(version: 3, hits: 1))
    }

    @Test(
        "Hits count once when a transaction writes the hits of a key twice and only the second write is undone"
    )
    func undoneAlone() async throws {
        struct Failure: Error {}
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            let entry = try await cache.store("1", url: url)
            let gate = Gate("group")
            try await cache.holdWriter(until: gate)
            cache.recordHit(entry)
            let (done, runs) = (Counter(), Counter())
            cache.writer.submit({ try $0.flushHits() }, completion: { _ in done.add() })
            cache.writer.submit(
                { context in
                    // Adds a hit in the second run, in which each operation has its own savepoint.
                    if runs.add() == 2 { cache.recordHit(entry) }
                    try context.flushHits(only: entry.key)
                    throw Failure()
                }, completion: { (_: Result<Void, DiskCacheError>) in done.add() })
            // This operation removes an entry and fails, so the writer runs the transaction's operations again.
            cache.writer.submit(
                { context in
                    try context.remove(try #require(try context.index.row(forKey: entry.key)))
                    throw Failure()
                }, completion: { (_: Result<Void, DiskCacheError>) in done.add() })
            gate.open()
            try await done.wait(for: 3)
            #expect(runs.value == 2)
            #expect(try cache.entry(url: url)?.hits == 2)
            try await cache.flush()
            #expect(try cache.entry(url: url)?.hits == 2)
            #expect(try cache.parts.reader.row(forKey: entry.key)?.entry.hits == 2)
        }
    }

    @Test("At every instant of a flush, each read shows every hit exactly once, and the renewed expiry date")
    func everyInstant() async throws {
        let fixture = try CacheFixture()
        let seen = Recorder<Entry?>()
        let opened = Locked<DiskCache?>(nil)
        let key = CacheKey.url(canonical: url).text
        let cache = try fixture.open(crashHook: { point in
            guard let cache = opened.withLock({ $0 }), point == .beforeCommit || point == .afterCommit else { return }
            seen.append(try cache.entry(for: key))
            seen.append(try cache.list().entries.first)
            guard case .hit(let stored) = try cache.load(key) else { return }
            seen.append(stored.entry)
        })
        defer { cache.close() }
        let entry = try await cache.store("1", url: url, ttl: .seconds(20))
        _ = try await cache.stored(key)
        cache.recordHit(entry)
        let expiry = cache.slide(entry, ttl: .seconds(50)).expiryDate
        opened.withLock { $0 = cache }
        try await cache.flush()
        opened.withLock { $0 = nil }
        // The flush calls the hook before and after its commit, and each call reads the entry in three ways.
        #expect(seen.elements.count >= 6)
        #expect(seen.elements.allSatisfy { $0?.hits == 1 && $0?.expiryDate == expiry })
    }

    @Test("A read during which a flush ends is repeated, because the first read may have missed hits")
    func endedMeanwhile() throws {
        let log = HitLog(HitClock(ManualClock(), notBefore: Timestamp(seconds: 1)))
        _ = log.note(PendingHits(version: 1, hits: 1), for: "k")
        var reads = 0
        let pending = try log.settled { () throws(DiskCacheError) in
            reads += 1
            if reads == 1 { log.endFlush(log.beginFlush()) }
            return log.pending("k")
        }
        #expect(pending == nil)
        #expect(reads == 2)
    }
}
