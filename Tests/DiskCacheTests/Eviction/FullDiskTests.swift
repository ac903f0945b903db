import Foundation
import GRDB
import TestSupport
import Testing

@testable import DiskCache

@Suite(
    "A volume with little room",
    .enabled(if: getuid() == 0, "only root can mount a small file system"))
struct FullDiskTests {
    /// Runs `body` with a cache directory on a volume of `size`, if this machine can mount a volume.
    private static func withDisk(_ size: String, _ body: (SmallDisk, CacheDirectory) async throws -> Void) async throws
    {
        guard let disk = try SmallDisk(size: size) else {
            return withKnownIssue("no small file system could be mounted") { Issue.record("mount failed") }
        }
        try await body(disk, try CacheDirectory(path: disk.mount.path("cache")))
    }

    private static func open(
        _ directory: CacheDirectory, _ layout: Layout,
        crashHook: @escaping @Sendable (CrashPoint) throws -> Void = { _ in }
    ) throws -> DiskCache {
        var configuration = CacheConfiguration()
        configuration.layout = layout
        // Without a reserve the cache can really fill the disk.
        configuration.diskReserve = .bytes(0)
        return try DiskCache(
            in: directory, configuration: configuration, clock: ManualClock(), log: { _ in }, crashHook: crashHook)
    }

    /// Runs `body` with a cache on a volume of `size`.
    private static func withCache(
        _ size: String, _ layout: Layout, _ body: (SmallDisk, DiskCache) async throws -> Void
    ) async throws {
        try await withDisk(size) { disk, directory in
            let cache = try open(directory, layout)
            defer { cache.close() }
            try await body(disk, cache)
        }
    }

    /// Stores `count` texts of `length` bytes, in turns under the `keyCount` keys `k0`, `k1`, ….
    private static func store(_ count: Int, of length: Int, keyCount: Int, in cache: DiskCache) async throws {
        for number in 0..<count { try await cache.store(longText(length, "\(number)"), key: "k\(number % keyCount)") }
    }

    @Test("The write-ahead log of the index does not fill a small volume", arguments: Layout.allCases)
    func logStaysShort(_ layout: Layout) async throws {
        try await Self.withCache("10m", layout) { _, cache in
            try await Self.store(600, of: 3000, keyCount: 50, in: cache)
            #expect(cache.totals.entries == 50)
            #expect(try await cache.remove("k1"))
            #expect(try await cache.remove(matching: .all) == 49)
        }
    }

    @Test(
        "On a full volume, updates and removals succeed, because the cache shortens the index's write-ahead log",
        arguments: Layout.allCases)
    func logIsGivenBack(_ layout: Layout) async throws {
        try await Self.withCache("64m", layout) { disk, cache in
            try await Self.store(150, of: 10_000, keyCount: 50, in: cache)
            try disk.fill()
            for number in 0..<500 { _ = try await cache.update("k\(number % 50)", tags: ["t\(number / 50)"]) }
            #expect(try await cache.remove(matching: .all) == 50)
        }
    }

    @Test(
        "A small volume has a smaller ballast, which still lets entries be removed when the volume is full",
        arguments: Layout.allCases)
    func smallBallast(_ layout: Layout) async throws {
        try await Self.withCache("8m", layout) { disk, cache in
            try await Self.store(100, of: 3000, keyCount: 100, in: cache)
            try disk.fill()
            for number in 0..<10 { #expect(try await cache.remove("k\(number)")) }
            #expect(try await cache.remove(matching: .all) == 90)
        }
    }

    @Test("The ballast also lets entries become stale when a small volume is full", arguments: Layout.allCases)
    func staleEntries(_ layout: Layout) async throws {
        try await Self.withCache("8m", layout) { disk, cache in
            let keys = (0..<100).map { CacheKey.url(canonical: "https://h/\($0)") }
            for (number, key) in keys.enumerated() {
                let reservation = cache.reserve(key, kind: .download, url: "https://h/\(number)")
                try reservation.receive(Array(longText(3000, "\(number)").utf8))
                _ = try await reservation.publish(EntryMetadata(ttl: .seconds(10)))
            }
            try disk.fill()
            for key in keys { #expect(try await cache.outdate(key.text)?.ttl == .zero) }
            #expect(try await cache.remove(matching: .all) == 100)
        }
    }

    @Test(
        "After a kill that left no ballast, a purge on a nearly full disk succeeds, because its steps are small",
        arguments: Layout.allCases)
    func purgeWithoutBallast(_ layout: Layout) async throws {
        try await Self.withDisk("64m") { disk, directory in
            let isKilled = Counter()
            let first = try Self.open(directory, layout) { point in
                if point == .afterCommit, isKilled.value > 0 { throw SimulatedCrash() }
            }
            try await fill(first, 3000)
            try disk.fill()
            #expect(try await first.remove(fillKey(0)))
            // A kill does not write the log into the database file, but the close of the last connection does. So this
            // connection stays open until the next start.
            var readOnly = Configuration()
            readOnly.readonly = true
            let other = try DatabaseQueue(path: first.directory + "/index.sqlite", configuration: readOnly)
            _ = try await other.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM entries") }
            isKilled.add()
            await #expect(throws: DiskCacheError.closed) { try await first.remove(fillKey(1)) }
            first.close()
            #expect(truncate(first.directory + "/ballast", 0) == 0)
            try disk.fill(leaving: 200 << 10)

            let cache = try Self.open(directory, layout)
            defer { cache.close() }
            try other.close()
            #expect(try await cache.remove(matching: .all) == 2998)
            try await cache.flush()
            #expect(try cache.findings() == [])
        }
    }
}
