import Primitives
import TestSupport
import Testing

@testable import DiskCache

@Suite("More renewed expiry dates than one transaction should write")
struct SlideFloodTests {
    private let now = Timestamp(seconds: 1)

    private func slide(_ seconds: Int) -> PendingHits {
        PendingHits(version: 1, slide: .init(ttl: .seconds(seconds), expiryDate: now + .seconds(seconds)))
    }

    /// Notes renewed expiry dates of missing entries. The write of each date costs a look-up in the index.
    private func flood(_ cache: DiskCache, _ count: Int) {
        for number in 0..<count { _ = cache.parts.hits.note(slide(9), for: "slid-\(number)") }
    }

    @Test("Expiry dates that were renewed before a purge are written a few at a time, and before dates renewed later")
    func marked() {
        let log = HitLog(HitClock(ManualClock(), notBefore: Timestamp(seconds: 1)))
        for number in 0..<1000 { _ = log.note(slide(1), for: "a\(number)") }
        log.markSlides()
        #expect(log.hasMarkedSlides)
        for number in 0..<1000 { _ = log.note(slide(2), for: "b\(number)") }
        // Renews 500 of the marked entries again. Their new dates are written together with the marked dates.
        for number in 0..<500 { _ = log.note(slide(3), for: "a\(number)") }
        var taken: [String: PendingHits] = [:]
        for (round, count) in [300, 300, 300, 300, 100].enumerated() {
            #expect(log.hasMarkedSlides)
            let flush = log.beginFlush(limit: .marked(300))
            #expect(flush.items.count == count)
            // The renewed expiry dates of a cancelled flush still have to be written.
            if round == 1 {
                log.cancelFlush(flush)
                continue
            }
            for (key, pending) in flush.items { taken[key] = pending }
            log.endFlush(flush)
        }
        #expect(!log.hasMarkedSlides)
        #expect(taken.count == 1000)
        #expect((0..<1000).allSatisfy { taken["a\($0)"]?.slide == slide($0 < 500 ? 3 : 1).slide })
        #expect(log.beginFlush(limit: .periodic).items.count == 1000)
    }

    @Test(
        "A sweep or purge that must first write many renewed expiry dates does not delay a later store",
        arguments: [true, false])
    func storesGoOn(isSweep: Bool) async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            try await cache.flush()
            let (gate, order, done) = (Gate("writer"), Recorder<String>(), Counter("done"))
            try await cache.holdWriter(until: gate)
            flood(cache, 20_000)
            let ended: @Sendable (Result<Int, DiskCacheError>) -> Void = { _ in
                order.append("removal")
                done.add()
            }
            if isSweep {
                cache.sweepExpired(completion: ended)
            } else {
                cache.remove(matching: [EntryFilter(state: .stale)], completion: ended)
            }
            let reservation = cache.reserve(try .data("k"), kind: .data)
            try reservation.receive([1])
            reservation.publish(
                EntryMetadata(ttl: .seconds(100)),
                completion: { _ in
                    order.append("store")
                    done.add()
                })
            gate.open()
            try await done.wait(for: 2)
            #expect(order.elements == ["store", "removal"])
        }
    }

    @Test("A purge of stale or fresh entries uses all expiry dates that hits had renewed before the purge")
    func purge() async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            var entries: [Entry] = []
            for number in 0..<50 { entries.append(try await cache.store("1", key: "k\(number)", ttl: .seconds(10))) }
            fixture.clock.advance(by: .seconds(9))
            flood(cache, 10_000)
            for entry in entries { _ = cache.slide(entry, ttl: .seconds(100)) }
            fixture.clock.advance(by: .seconds(9))
            #expect(try await cache.remove(matching: EntryFilter(state: .stale)) == 0)
            flood(cache, 10_000)
            for entry in entries.prefix(10) { _ = cache.slide(entry, ttl: .seconds(1)) }
            fixture.clock.advance(by: .seconds(1))
            #expect(try await cache.remove(matching: EntryFilter(state: .fresh)) == 40)
            #expect(try cache.keys().count == 10)
        }
    }

    @Test(
        "A download that refreshes a purged entry is not stored, even if the entry expires during the purge"
    )
    func refreshMeanwhile() async throws {
        let fixture = try CacheFixture()
        let isArmed = Locked(false)
        let commits = Counter("commits")
        let cache = try fixture.open(crashHook: { [clock = fixture.clock] point in
            // The first commit belongs to the operation that held the writer, the second to the purge.
            guard point == .beforeCommit, isArmed.withLock({ $0 }), commits.add() == 2 else { return }
            clock.advance(by: .seconds(20))
        })
        defer { cache.close() }
        let url = "http://h/a"
        try await cache.store("old", url: url, ttl: .seconds(10)) { $0.etag = "\"1\"" }
        let refresh = cache.reserve(.url(canonical: url), kind: .download, url: url)
        try refresh.receive(Array("new".utf8))
        let gate = Gate("writer")
        try await cache.holdWriter(until: gate)
        flood(cache, 10_000)
        isArmed.withLock { $0 = true }
        let done = Counter("purged")
        cache.remove(matching: [EntryFilter(state: .fresh)]) { result in
            #expect((try? result.get()) == 1)
            done.add()
        }
        gate.open()
        try await done.wait(for: 1)
        let outcome = try await refresh.publish(EntryMetadata(ttl: .seconds(100)))
        guard case .notKept = outcome else {
            Issue.record("\(outcome)")
            return
        }
        #expect(try cache.keys().isEmpty)
    }

    @Test("A sweep keeps an entry that a hit renews while the sweep writes renewed expiry dates of other entries")
    func slidMeanwhile() async throws {
        let fixture = try CacheFixture()
        let opened = Locked<(DiskCache, Entry)?>(nil)
        let commits = Counter("commits")
        let cache = try fixture.open(crashHook: { [clock = fixture.clock] point in
            guard point == .beforeCommit, let (cache, entry) = opened.withLock({ $0 }), commits.add() == 1 else {
                return
            }
            _ = cache.slide(entry, ttl: .seconds(100))
            clock.advance(by: .seconds(20))
        })
        defer { cache.close() }
        let entry = try await cache.store("1", key: "k", ttl: .seconds(10))
        let gate = Gate("writer")
        try await cache.holdWriter(until: gate)
        flood(cache, 10_000)
        opened.withLock { $0 = (cache, entry) }
        let done = Counter("swept")
        cache.sweepExpired { result in
            #expect((try? result.get()) == 0)
            done.add()
        }
        gate.open()
        try await done.wait(for: 1)
        opened.withLock { $0 = nil }
        #expect(commits.value >= 3)
        #expect(try await cache.text(key: "k") == "1")
    }

    @Test("Many renewed expiry dates are written in several transactions without a pause between them")
    func oneAfterTheOther() async throws {
        let fixture = try CacheFixture()
        let (count, inOne) = (20_000, HitLog.FlushLimit.periodic.slides)
        let opened = Locked<DiskCache?>(nil)
        let areMoreLeft = Recorder<Bool>()
        let commits = Counter("commits")
        let cache = try fixture.open(crashHook: { point in
            guard point == .afterCommit, let cache = opened.withLock({ $0 }), commits.add() == 1 else { return }
            // The next transaction runs this operation after it has written its part of the renewed expiry dates.
            cache.writer.submit { _ in
                areMoreLeft.append(cache.parts.hits.hasMoreSlides(than: .init(slides: count - 2 * inOne, hits: 0)))
            } completion: { _ in
            }
        })
        defer { cache.close() }
        flood(cache, count)
        opened.withLock { $0 = cache }
        cache.writer.flushSoon()
        try await poll("the write of the last slide", limit: .seconds(60)) { cache.parts.hits.isEmpty }
        opened.withLock { $0 = nil }
        #expect(areMoreLeft.elements == [false])
        // The poll may end before the last commit is counted.
        #expect(commits.value >= 4)
    }

    @Test("Eviction spares an entry that a hit has renewed, and writes no renewed expiry dates of other entries")
    func eviction() async throws {
        let cost = EntryRow.cost(bodyLength: 1000, isFile: false, url: nil) + 2
        let fixture = try CacheFixture { $0.diskLimit = cost * 4 * 16 / 15 + 16 }
        try await fixture.withCache { cache async throws in
            for key in ["a", "b", "c", "d"] {
                try await cache.store(longText(1000), key: key, ttl: .seconds(10))
                try await cache.flush()
                fixture.clock.advance(by: .seconds(1))
            }
            // Notes the renewed expiry date, but does not ask the writer to write the date soon.
            let slide = PendingHits.Slide(ttl: .seconds(100), expiryDate: fixture.clock.now() + .seconds(100))
            let version = try #require(try cache.entry(for: "a")).version
            _ = cache.parts.hits.note(PendingHits(version: version, slide: slide), for: "a")
            fixture.clock.advance(by: .seconds(10))
            flood(cache, 10_000)
            try await cache.store(longText(1000), key: "e", ttl: .seconds(100))
            #expect(cache.parts.hits.hasMoreSlides(than: .marked(4096)))
            try await cache.flush()
            #expect(try cache.keys().contains("a"))
            #expect(try !cache.keys().contains("b"))
        }
    }
}
