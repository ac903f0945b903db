import Foundation
import Primitives
import TestSupport
import Testing

@testable import DiskCache

@Suite(
    "The reserve that stays free on the file system",
    .enabled(if: getuid() == 0, "only root can mount a small file system"))
struct DiskReserveTests {
    private static let size: Int64 = 64 << 20
    private static let floor = size / 20
    /// The most bytes by which the free space may be below the reserve for a moment, because the index's log and other
    /// files of the writer take room.
    private static let slack: Int64 = 1 << 20

    /// Runs `body` with a cache on a volume of its own, if this machine can mount a volume.
    private static func withCache(
        _ layout: Layout, _ clock: ManualClock = ManualClock(),
        _ body: (SmallDisk, DiskCache) async throws -> Void
    ) async throws {
        guard let disk = try SmallDisk(size: "\(size)") else {
            return withKnownIssue("no small file system could be mounted") { Issue.record("mount failed") }
        }
        var configuration = CacheConfiguration()
        configuration.layout = layout
        let directory = try CacheDirectory(path: disk.mount.path("cache"))
        let cache = try DiskCache(in: directory, configuration: configuration, clock: clock)
        defer { cache.close() }
        try await body(disk, cache)
    }

    private static func free(_ disk: SmallDisk) -> Int64 { FileSystem.freeBytes(at: disk.mount.path) }

    @Test(
        "The reserve stays free when the disk limit exceeds the size of the disk", arguments: Layout.allCases,
        [3000, 100_000])
    func limitLargerThanDisk(_ layout: Layout, length: Int) async throws {
        try await Self.withCache(layout) { disk, cache in
            // Stores twice as many bodies as fit.
            let count = Int(Self.size) * 2 / (layout == .hashed && length < 16 << 10 ? 6000 : (length + 4095))
            var least = Int64.max
            for number in 0..<count {
                try await cache.store(longText(length, "\(number)"), key: "k\(number)")
                if number % 16 == 0 { least = min(least, Self.free(disk)) }
            }
            #expect(least >= Self.floor - Self.slack)
            #expect(try cache.entry(for: "k\(count - 1)") != nil)
            // The bodies fill over a third of the volume, so the cache evicts not much more than the reserve demands.
            #expect(cache.totals.bodyBytes > Self.size / 3)
            #expect(try cache.findings() == [])
        }
    }

    @Test("The cache restores the reserve in the background after other programs took it", arguments: Layout.allCases)
    func takenByOthers(_ layout: Layout) async throws {
        try await Self.withCache(layout) { disk, cache in
            for number in 0..<200 { try await cache.store(longText(100_000, "\(number)"), key: "k\(number)") }
            try disk.fill(leaving: 1 << 20)
            try await cache.flush()
            try await poll("a free reserve") {
                // Each flush lets the cache check the free space, at the earliest a second after its last check.
                cache.flush { _ in }
                return Self.free(disk) >= Self.floor
            }
            #expect(cache.totals.entries > 100)
            try await cache.store(longText(100_000), key: "new")
            #expect(try await cache.text(key: "new") == longText(100_000))
        }
    }

    @Test("The cache restores the reserve even when it must evict its only and newest entry")
    func takenFromOnlyOne() async throws {
        try await Self.withCache(.hashed) { disk, cache in
            try await cache.store(longText(20 << 20), key: "only")
            try disk.fill(leaving: 1 << 20)
            try await poll("a free reserve") {
                cache.flush { _ in }
                return Self.free(disk) >= Self.floor
            }
            #expect(cache.totals.entries == 0)
        }
    }

    @Test("Room that other programs free is available to the next store", arguments: Layout.allCases)
    func givenBack(_ layout: Layout) async throws {
        try await Self.withCache(layout) { disk, cache in
            try disk.fill(leaving: 1 << 20)
            await #expect(throws: DiskCacheError.noSpace) { try await cache.store(longText(100_000), key: "early") }
            let reservation = cache.reserve(try .data("k"), kind: .data)
            #expect(throws: DiskCacheError.noSpace) { try reservation.expect(length: 100_000) }
            try FileManager.default.removeItem(atPath: disk.mount.path("filler"))
            // A child process that another test has just forked may hold the removed file open until its `exec`.
            try await poll("the file system to have its room back") { Self.free(disk) > 2 * Self.floor }
            try reservation.expect(length: 100_000)
            try reservation.receive([UInt8](repeating: 1, count: 100_000))
            reservation.abandon()
            try await cache.store(longText(100_000), key: "late")
        }
    }

    @Test("When a store is given up, the room that it had reserved is available again", arguments: Layout.allCases)
    func promisedInVain(_ layout: Layout) async throws {
        try await Self.withCache(layout) { disk, cache in
            try await cache.store("x", key: "first")
            let room = Self.free(disk) - Self.floor
            let block = [UInt8](repeating: 1, count: 1 << 20)
            for _ in 0..<8 {
                do {
                    let reservation = cache.reserve(try .data("k"), kind: .data)
                    for _ in 0..<(room / 8) >> 20 { try reservation.receive(block) }
                    reservation.abandon()
                }
                // A child process that another test has just forked may hold the removed body open until its `exec`.
                try await poll("the room to be back") { Self.free(disk) - Self.floor >= room - (4 << 20) }
            }
            let reservation = cache.reserve(try .data("k"), kind: .data)
            try reservation.expect(length: room - (4 << 20))
            reservation.abandon()
        }
    }

    @Test("Restoring the reserve evicts no fresh entry while expired entries are left", arguments: Layout.allCases)
    func expiredFirst(_ layout: Layout) async throws {
        let clock = ManualClock()
        try await Self.withCache(layout, clock) { disk, cache in
            // An entry with a validator is not swept, but stays until its room is needed.
            for number in 0..<200 {
                try await cache.store(longText(100_000, "\(number)"), url: "http://h/\(number)", ttl: .seconds(10)) {
                    $0.etag = "\"\(number)\""
                }
            }
            for number in 0..<10 { try await cache.store(longText(100_000), key: "k\(number)", ttl: .seconds(1000)) }
            clock.advance(by: .seconds(60))
            try disk.fill(leaving: Int(Self.floor))
            for number in 10..<40 { try await cache.store(longText(100_000), key: "k\(number)", ttl: .seconds(1000)) }
            #expect(try (0..<40).filter { try cache.entry(for: "k\($0)") == nil } == [])
            #expect(Self.free(disk) >= Self.floor - Self.slack)
        }
    }

    @Test("A store that needs the reserve is refused when all entries are pinned", arguments: Layout.allCases)
    func pinned(_ layout: Layout) async throws {
        try await Self.withCache(layout) { disk, cache in
            for number in 0..<20 {
                try await cache.store(longText(100_000), key: "k\(number)") { $0.pinned = true }
            }
            try disk.fill(leaving: Int(Self.floor))
            await #expect(throws: DiskCacheError.noSpace) {
                try await cache.store(longText(1_000_000), key: "new")
            }
            let reservation = cache.reserve(try .data("announced"), kind: .data)
            #expect(throws: DiskCacheError.noSpace) { try reservation.expect(length: 1_000_000) }
            #expect(try cache.keys().count == 20)
            #expect(try await cache.remove("k0"))
        }
    }

    @Test("The reserve is a percentage of the file system's size, or a number of bytes")
    func floors() {
        #expect(DiskReserve.percent(5).floor(ofSize: 1000) == 50)
        #expect(DiskReserve.bytes(70).floor(ofSize: 1000) == 70)
        #expect(FreeSpace(reserve: .bytes(0), directory: "/").room(reusable: 0) > 1 << 50)
        #expect(FreeSpace(reserve: .percent(100), directory: "/").room(reusable: 0) < 0)
    }
}
