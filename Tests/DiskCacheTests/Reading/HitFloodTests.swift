import Primitives
import TestSupport
import Testing

@testable import DiskCache

@Suite("Hits on very many entries")
struct HitFloodTests {
    private let now = Timestamp(seconds: 1)
    private let log = HitLog(HitClock(ManualClock(), notBefore: Timestamp(seconds: 1)))
    private var hit: PendingHits { PendingHits(version: 1, hits: 1, lastAccess: now) }
    private var slide: PendingHits {
        PendingHits(version: 1, slide: PendingHits.Slide(ttl: .seconds(9), expiryDate: now + .seconds(9)))
    }

    @Test(
        "The log of hits takes bounded memory, and keeps all renewed expiry dates and the hits of often used entries",
        arguments: [0, 200])
    func bounded(slides: Int) {
        for number in 0..<slides { _ = log.note(slide, for: "slid-\(number)") }
        for number in 0..<100_000 {
            _ = log.note(hit, for: "once-\(number)")
            if number % 1000 == 0 { _ = log.note(hit, for: "often") }
        }
        #expect(log.pending("often")?.hits == 100)
        #expect(log.pending("once-99999")?.hits == 1)
        #expect(log.pending("once-0") == nil)
        let all = log.beginFlush()
        #expect(all.items.count { $0.pending.slide != nil } == slides)
        #expect(all.items.count > 8000)
        #expect(all.items.count < 17_000)
    }

    @Test("Each flush writes a limited number of hits; the first flush writes all renewed expiry dates")
    func fewAtATime() {
        for number in 0..<4000 { _ = log.note(hit, for: "hit-\(number)") }
        for number in 0..<600 { _ = log.note(slide, for: "slid-\(number)") }
        let limit = HitLog.FlushLimit.periodic
        var sizes: [Int] = []
        while !log.isEmpty {
            let flush = log.beginFlush(limit: limit)
            sizes.append(flush.items.count)
            log.endFlush(flush)
        }
        #expect(sizes.first == limit.hits + 600)
        #expect(sizes.reduce(0, +) == 4600)
        #expect(sizes.allSatisfy { $0 <= limit.hits + 600 })
        #expect(log.pending("hit-17") == nil)
    }

    @Test("A flush takes the hits and the renewed expiry date of an entry together; if it fails, it puts both back")
    func withSlides() {
        _ = log.note(hit, for: "a")
        _ = log.note(slide, for: "a")
        _ = log.note(slide, for: "b")
        _ = log.note(hit, for: "b")
        log.markSlides()
        let flush = log.beginFlush(limit: .marked(10))
        #expect(flush.items.map(\.pending.hits) == [1, 1])
        #expect(flush.items.allSatisfy { $0.pending.slide != nil })
        #expect(log.isEmpty)
        _ = log.note(hit, for: "a")
        log.cancelFlush(flush)
        #expect(log.pending("a")?.hits == 2)
        #expect(log.pending("a")?.slide == slide.slide)
        #expect(log.beginFlush(limit: .marked(10)).items.count == 2)
        #expect(log.isEmpty)
    }

    @Test("When a flush takes hits that were counted in memory, these hits push no other hits out of the log")
    func countedBesideOthers() {
        let passed = (0..<15_500).map { "passed-\($0)" }
        for key in passed { _ = log.note(hit, for: key) }
        let counted = (0..<2000).map { HotEntry(key: "counted-\($0)", version: 1, log: log) {} }
        for entry in counted { entry.recordHit(at: now) }
        let kept = passed.reduce(0) { $0 + (log.pending($1)?.hits ?? 0) }
        #expect(kept > 4000)
        var written: Int64 = 0
        while !log.isEmpty {
            let flush = log.beginFlush(limit: .periodic)
            #expect(flush.items.count <= HitLog.FlushLimit.periodic.hits)
            written += flush.items.reduce(0) { $0 + $1.pending.hits }
            log.endFlush(flush)
        }
        #expect(written == kept + 2000)
    }

    @Test("When more entries have hits than one flush writes, later flushes write the hits of every entry")
    func turns() throws {
        let entries = (0..<400).map { HotEntry(key: "k\($0)", version: 1, log: log) {} }
        var written: Set<String> = []
        for _ in 0..<120 {
            for entry in entries { entry.recordHit(at: now) }
            let flush = log.beginFlush(limit: HitLog.FlushLimit(slides: 0, hits: 8))
            #expect(flush.items.count == 8)
            written.formUnion(flush.items.map(\.key))
            log.endFlush(flush)
        }
        // 50 of the 120 flushes would be enough, because each flush writes the hits of 8 of the 400 entries.
        #expect(written.count == 400)
        #expect(log.countedHits == 400 * 120)
    }

    @Test("The queue of hit counters stays short when entries enter and leave memory again and again")
    func comingAndGoing() {
        var queue = CounterQueue()
        for number in 0..<10_000 {
            let entry = HotEntry(key: "k\(number % 50)", version: 1, log: log) {}
            queue.append(entry, for: entry.key, version: 1)
            if number % 50 != 7 { #expect(queue.remove(entry.key)?.counter === entry) }
            #expect(queue.queueLength <= 2 * 50 + 65)
        }
        #expect(queue.oldest(5) == [ExactText("k7")])
    }

    @Test("All hits are written when a cache is closed")
    func closing() async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            for number in 0..<20 {
                let entry = try await cache.store("1", key: "k\(number)")
                for _ in 0..<number { cache.recordHit(entry) }
            }
        }
        try await fixture.withCache { cache async throws in
            for number in 0..<20 { #expect(try cache.entry(for: "k\(number)")?.hits == Int64(number)) }
        }
    }
}
