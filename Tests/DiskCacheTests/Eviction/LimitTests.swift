import Foundation
import GRDB
import Primitives
import TestSupport
import Testing

@testable import DiskCache

@Suite("The limits of disk and memory")
struct LimitTests {
    /// Returns the part of the disk limit that an entry with a body of `length` bytes and a short key takes.
    private static func cost(_ length: Int64) -> Int64 {
        EntryRow.cost(bodyLength: length, isFile: false, url: nil) + 12
    }

    /// Returns a limit with room for `count` entries of 1,000 bytes beside the head-room.
    private static func limit(_ count: Int64) -> Int64 { cost(1000) * count * 16 / 15 + 16 }

    @Test("Expired entries are evicted first, then the oldest entries without hits, and pinned entries never")
    func order() async throws {
        let fixture = try CacheFixture { $0.diskLimit = Self.limit(5) }
        try await fixture.withCache { cache async throws in
            let body = longText(1000)
            var entries: [Entry] = []
            for (name, ttl) in [("pinned", 1000), ("old", 1000), ("used", 1000), ("expiring", 30), ("young", 1000)] {
                fixture.clock.advance(by: .seconds(1))
                entries.append(
                    try await cache.store(body, key: name, ttl: .seconds(ttl)) { $0.pinned = name == "pinned" })
            }
            try await cache.flush()
            #expect(try cache.keys().count == 5)
            fixture.clock.advance(by: .seconds(60))
            cache.recordHit(entries[2])
            var left: [[String]] = []
            for name in ["a", "b", "c"] {
                fixture.clock.advance(by: .seconds(1))
                try await cache.store(body, key: name, ttl: .seconds(1000))
                // After two flushes the writer has finished its own work, such as an eviction.
                try await cache.flush()
                try await cache.flush()
                left.append(try cache.keys())
            }
            #expect(
                left == [
                    ["a", "old", "pinned", "used", "young"], ["a", "b", "pinned", "used", "young"],
                    ["a", "b", "c", "pinned", "used"],
                ])
            #expect(cache.totals.diskBytes <= Self.limit(5))
            #expect(try cache.findings() == [])
        }
    }

    @Test(
        "Concurrent stores do not exceed the disk limit, and each store either succeeds or is refused",
        arguments: Layout.allCases)
    func concurrent(_ layout: Layout) async throws {
        let limit: Int64 = 400_000
        let fixture = try CacheFixture(layout) { $0.diskLimit = limit }
        try await fixture.withCache { cache async throws in
            let peak = Locked<Int64>(0)
            let refused = Counter()
            _ = try await concurrently(16) { worker in
                try await blocking {
                    for round in 0..<25 {
                        let reservation = cache.reserve(try .data("\(worker)-\(round)"), kind: .data)
                        let done = Gate()
                        do {
                            try reservation.expect(length: Int64(7000 * (round % 5 + 1)))
                            for _ in 0...(round % 5) { try reservation.receive(Array(longText(7000).utf8)) }
                            reservation.publish(EntryMetadata(ttl: .seconds(10))) { _ in done.open() }
                        } catch DiskCacheError.noSpace {
                            refused.add()
                            done.open()
                        }
                        try done.waitBlocking()
                        let used = cache.totals.diskBytes
                        peak.withLock { $0 = max($0, used) }
                    }
                }
            }
            #expect(peak.withLock { $0 } <= limit)
            #expect(peak.withLock { $0 } > limit / 2)
            #expect(refused.value < 200)
            #expect(cache.parts.budget.reserved == 0)
            #expect(cache.parts.budget.used == cache.totals.diskBytes)
            #expect(try cache.findings() == [])
        }
    }

    @Test("A body longer than the limit for one entry is refused as soon as its length is known")
    func entryLimit() async throws {
        let fixture = try CacheFixture { $0.entryLimit = 1000 }
        try await fixture.withCache { cache async throws in
            let declared = cache.reserve(try .data("k"), kind: .data)
            #expect(throws: DiskCacheError.entryTooLarge(limit: 1000)) { try declared.expect(length: 1001) }
            let sent = cache.reserve(try .data("k"), kind: .data)
            try sent.receive([UInt8](repeating: 1, count: 1000))
            #expect(throws: DiskCacheError.entryTooLarge(limit: 1000)) { try sent.receive([1]) }
        }
    }

    @Test("A body that does not fit beside pinned and reserved bytes is refused, and the cache evicts no entry for it")
    func doesNotFit() async throws {
        let fixture = try CacheFixture { $0.diskLimit = 1_000_000 }
        try await fixture.withCache { cache async throws in
            try await cache.store(longText(300_000), key: "pinned") { $0.pinned = true }
            try await cache.store(longText(300_000), key: "other")
            let tooLarge = cache.reserve(try .data("k"), kind: .data)
            #expect(throws: DiskCacheError.noSpace) { try tooLarge.expect(length: 1_000_000) }
            let besidePinned = cache.reserve(try .data("k"), kind: .data)
            #expect(throws: DiskCacheError.noSpace) { try besidePinned.expect(length: 750_000) }
            #expect(try cache.keys() == ["other", "pinned"])
            let received = cache.reserve(try .data("k"), kind: .data)
            try received.expect(length: 600_000)
            try received.receive([UInt8](repeating: 1, count: 600_000))
            #expect(try cache.keys() == ["pinned"])
            let beside = cache.reserve(try .data("l"), kind: .data)
            #expect(throws: DiskCacheError.noSpace) { try beside.expect(length: 200_000) }
            received.abandon()
            try beside.expect(length: 200_000)
        }
    }

    @Test("An entry that is no longer pinned can be evicted again")
    func unpinned() async throws {
        let fixture = try CacheFixture { $0.diskLimit = Self.limit(3) }
        try await fixture.withCache { cache async throws in
            for name in ["a", "b", "c"] { try await cache.store(longText(1000), key: name) { $0.pinned = true } }
            await #expect(throws: DiskCacheError.noSpace) { try await cache.store(longText(1000), key: "d") }
            #expect(try cache.keys() == ["a", "b", "c"])
            _ = try await cache.update("b", pinned: false)
            try await cache.store(longText(1000), key: "d")
            #expect(try cache.keys() == ["a", "c", "d"])
        }
    }

    @Test("A cache that is opened with a smaller disk limit evicts entries without waiting for a store")
    func shrinks() async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in try await fill(cache, 500) }
        let cache = try fixture.open { $0.diskLimit = 100_000 }
        defer { cache.close() }
        try await cache.flush()
        try await poll("fewer bytes than the limit") { cache.totals.diskBytes <= 100_000 }
        #expect(try cache.findings() == [])
    }

    @Test("A cache that is opened with a disk limit below the size of its only entry evicts the entry")
    func shrinksToNothing() async throws {
        let fixture = try CacheFixture { $0.diskLimit = 1_000_000 }
        try await fixture.withCache { cache async throws in try await cache.store(longText(500_000), key: "k") }
        try await fixture.withCache({ $0.diskLimit = 100_000 }) { cache async throws in
            try await cache.flush()
            try await poll("an empty cache") { cache.totals.diskBytes == 0 }
        }
    }

    @Test("The memory tier stays under its limit, and trimming it loses no entry")
    func memory() async throws {
        let fixture = try CacheFixture { $0.memoryLimit = 200_000 }
        try await fixture.withCache { cache async throws in
            for number in 0..<50 { try await cache.store(longText(10_000, "\(number)"), key: "\(number)") }
            for number in 0..<50 { _ = try await cache.stored("\(number)") }
            #expect(cache.memoryStatistics.bytes <= 200_000)
            #expect(cache.memoryStatistics.count > 10)
            cache.trimMemory(toBytes: 0)
            #expect(cache.memoryStatistics.count == 0)
            #expect(try await cache.text(key: "7") == longText(10_000, "7"))
        }
    }

    @Test(
        "On a full disk, stores fail and no entry is damaged; once there is room, stores succeed without a restart",
        .enabled(if: getuid() == 0, "only root can mount a small file system"), arguments: Layout.allCases)
    func fullDisk(_ layout: Layout) async throws {
        guard let disk = try SmallDisk(size: "3m") else {
            withKnownIssue("no small file system could be mounted") { Issue.record("mount failed") }
            return
        }
        let directory = try CacheDirectory(path: disk.mount.path("cache"))
        var configuration = CacheConfiguration()
        configuration.layout = layout
        configuration.diskReserve = .bytes(0)
        let cache = try DiskCache(in: directory, configuration: configuration)
        let kept = longText(200_000, "kept")
        try await cache.store(kept, key: "kept")
        let outcomes = try await concurrently(40) { number in
            do {
                try await cache.store(longText(number % 2 == 0 ? 150_000 : 2000, "\(number)"), key: "n\(number)")
                return true
            } catch DiskCacheError.noSpace {
                return false
            }
        }
        #expect(outcomes.contains(false))
        for (number, isStored) in outcomes.enumerated() {
            let text = try await cache.text(key: "n\(number)")
            #expect((text != nil) == isStored)
            if let text { #expect(text == longText(number % 2 == 0 ? 150_000 : 2000, "\(number)")) }
        }
        #expect(try await cache.text(key: "kept") == kept)
        #expect(disk.resize(to: "12m"))
        try await cache.store(kept, key: "after")
        #expect(try await cache.text(key: "after") == kept)
        try await cache.flush()
        #expect(try cache.findings() == [])
        cache.close()
    }
}

extension LimitTests {
    @Test(
        "Entries can be removed from a disk that other programs have filled",
        .enabled(if: getuid() == 0, "only root can mount a small file system"))
    func removalOnFullDisk() async throws {
        guard let disk = try SmallDisk(size: "48m") else {
            withKnownIssue("no small file system could be mounted") { Issue.record("mount failed") }
            return
        }
        var configuration = CacheConfiguration()
        configuration.diskReserve = .bytes(0)
        let cache = try DiskCache(in: try CacheDirectory(path: disk.mount.path("cache")), configuration: configuration)
        for number in 0..<100 { try await cache.store(longText(100_000, "\(number)"), key: "n\(number)") }
        try disk.fill()
        let isFull = try await #require(throws: DiskCacheError.self) {
            for number in 0..<10_000 { try await cache.store(longText(10_000, "\(number)"), key: "m\(number)") }
        }
        #expect(isFull == .noSpace)
        #expect(try await cache.remove("n0"))
        #expect(try await cache.remove(matching: .all) >= 99)
        try await cache.store(longText(100_000, "again"), key: "again")
        #expect(try await cache.text(key: "again") == longText(100_000, "again"))
        cache.close()
    }

    @Test(
        "An I/O error of SQLite is reported as a full disk when the disk is full",
        .enabled(if: getuid() == 0, "only root can mount a small file system"))
    func ioErrorOnFullDisk() async throws {
        guard let disk = try SmallDisk(size: "12m") else {
            withKnownIssue("no small file system could be mounted") { Issue.record("mount failed") }
            return
        }
        var configuration = CacheConfiguration()
        configuration.diskReserve = .bytes(0)
        let cache = try DiskCache(in: try CacheDirectory(path: disk.mount.path("cache")), configuration: configuration)
        defer { cache.close() }
        func failure() async -> DiskCacheError? {
            await withCheckedContinuation { continuation in
                cache.writer.submit(
                    { _ in throw DatabaseError(resultCode: .SQLITE_IOERR_SHMSIZE) },
                    completion: { (result: Result<Void, DiskCacheError>) in
                        guard case .failure(let error) = result else { return continuation.resume(returning: nil) }
                        continuation.resume(returning: error)
                    })
            }
        }
        #expect(await failure()?.isIndexIO == true)
        try disk.fill()
        // On the full disk, the writer empties the index's log, and runs the operation once more. Space is free
        // then, so the test fills the disk again.
        _ = await failure()
        try disk.fill()
        #expect(await failure() == .noSpace)
    }

    @Test("The writer does not repeat an eviction that cannot make room")
    func futileEviction() async throws {
        let fixture = try CacheFixture { $0.diskLimit = Self.cost(1000) * 5 + 64 }
        let commits = Counter()
        let cache = try fixture.open(crashHook: { if $0 == .beforeCommit { commits.add() } })
        defer { cache.close() }
        for number in 0..<5 { try await cache.store(longText(1000), key: "k\(number)") { $0.pinned = true } }
        #expect(cache.parts.budget.fullness.excess + Self.cost(1000) / 4 > 0)
        // The last store used up the head-room, so the writer tries once to evict. The test waits until this try
        // has ended.
        try await cache.flush()
        try await cache.flush()
        let before = commits.value
        for _ in 0..<50 { try await cache.flush() }
        #expect(commits.value - before == 50)
        #expect(try cache.keys().count == 5)
    }

    @Test("Long header fields and tags count in the limits, and the number of tags is limited")
    func texts() async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            let long = longText(50_000, "etag")
            try await cache.store("x", url: "http://h/a") { $0.etag = long }
            #expect(cache.totals.diskBytes > 50_000)
            _ = try await cache.stored(CacheKey.url(canonical: "http://h/a").text)
            #expect(cache.memoryStatistics.bytes > 50_000)
            let before = cache.totals.diskBytes
            try await cache.store("x", key: "note", tags: ["a"])
            _ = try await cache.update("note", tags: (0..<Entry.tagLimit).map { "t\($0)" })
            #expect(cache.totals.diskBytes > before + Int64(Entry.tagLimit) * 32)
            await #expect(throws: DiskCacheError.tooManyTags(limit: Entry.tagLimit)) {
                _ = try await cache.update("note", tags: (0...Entry.tagLimit).map { "t\($0)" })
            }
            #expect(try cache.entry(for: "note")?.tags.count == Entry.tagLimit)
            #expect(try cache.findings() == [])
        }
    }

    @Test("The announced length of a body evicts no entry; only the arriving bytes do")
    func announcedLength() async throws {
        let fixture = try CacheFixture { $0.diskLimit = 1 << 20 }
        try await fixture.withCache { cache async throws in
            for number in 0..<100 { try await cache.store(longText(1000, "\(number)"), key: "n\(number)") }
            let entries = cache.totals.entries
            let reservation = cache.reserve(try .data("big"), kind: .data)
            try reservation.expect(length: 900_000)
            reservation.abandon()
            try await cache.flush()
            #expect(cache.totals.entries == entries)
        }
    }
}
