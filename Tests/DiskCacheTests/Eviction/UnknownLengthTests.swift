import Primitives
import TestSupport
import Testing

@testable import DiskCache

@Suite("Bodies of unknown length")
struct UnknownLengthTests {
    private static let limit: Int64 = 4_000_000
    private static let piece = [UInt8](repeating: 7, count: 50_000)

    /// Runs `body` with a cache of `count` entries of about 100,000 bytes each. 37 of them fill the cache up to the
    /// head-room.
    private static func withEntries(
        _ count: Int, areRead: Bool, ttl: Duration = .seconds(1000), _ layout: Layout = .hashed,
        _ body: (DiskCache, CacheFixture) async throws -> Void
    ) async throws {
        let fixture = try CacheFixture(layout) { $0.diskLimit = limit }
        try await fixture.withCache { cache async throws in
            for number in 0..<count {
                // The validator keeps the expired entry from being swept.
                let entry = try await cache.store(longText(97_000), key: "e\(number)", ttl: ttl) { $0.etag = "\"1\"" }
                for _ in 0..<(areRead ? 3 : 0) { cache.recordHit(entry) }
            }
            try await rest(cache)
            #expect(try held(cache) == count)
            try await body(cache, fixture)
            #expect(cache.parts.budget.reserved == 0)
            #expect(cache.totals.diskBytes <= limit)
            #expect(try cache.findings() == [])
        }
    }

    /// Returns once the writer has finished its own work, such as an eviction.
    private static func rest(_ cache: DiskCache) async throws {
        try await cache.flush()
        try await cache.flush()
    }

    /// Returns the number of initial entries that are still held.
    private static func held(_ cache: DiskCache) throws -> Int {
        try cache.keys().count { $0.hasPrefix("e") }
    }

    /// Sends pieces until the body has `length` bytes or is refused. Returns the number of accepted bytes.
    @discardableResult
    private static func send(_ length: Int, to reservation: Reservation) throws -> Int {
        for sent in stride(from: 0, to: length, by: piece.count) {
            do {
                try reservation.receive(Array(piece.prefix(length - sent)))
            } catch DiskCacheError.noSpace {
                return sent
            }
        }
        return length
    }

    @Test(
        "A body of unknown length that exceeds the free room is refused, and no entry that was read is evicted",
        arguments: [20, 30, 37], Layout.allCases)
    func readEntriesStay(count: Int, layout: Layout) async throws {
        try await Self.withEntries(count, areRead: true, layout) { (cache, _) async throws in
            for number in 1...3 {
                let reservations = try (0..<number).map { cache.reserve(try .data("k\($0)"), kind: .data) }
                let taken = try reservations.map { try Self.send(8_000_000, to: $0) }
                #expect(taken.reduce(0, +) <= Int(Self.limit) - count * 100_000)
                for reservation in reservations { reservation.abandon() }
                try await Self.rest(cache)
                #expect(try Self.held(cache) == count)
            }
        }
    }

    @Test("A body of unknown length that turns out too long evicts only unread entries, at most a tenth of the limit")
    func share() async throws {
        try await Self.withEntries(37, areRead: false) { (cache, _) async throws in
            for _ in 0..<5 {
                let reservation = cache.reserve(try .data("k"), kind: .data)
                try Self.send(8_000_000, to: reservation)
                reservation.abandon()
                try await Self.rest(cache)
            }
            #expect((32...36).contains(try Self.held(cache)))
        }
    }

    @Test("Concurrent bodies of unknown length share a fifth of the limit; none gets four times the bytes of another")
    func several() async throws {
        try await Self.withEntries(37, areRead: false) { (cache, _) async throws in
            let reservations = try (0..<8).map { cache.reserve(try .data("k\($0)"), kind: .data) }
            var taken = [Int](repeating: 0, count: 8)
            for _ in 0..<160 {
                for number in 0..<8 {
                    taken[number] += try Self.send(4096, to: reservations[number])
                }
            }
            #expect(try #require(taken.min()) > 0)
            #expect(try #require(taken.max()) < 4 * (try #require(taken.min())))
            #expect(taken.reduce(0, +) < Int(Self.limit) / 5 + Int(Self.limit) / 16)
            for reservation in reservations { reservation.abandon() }
            try await Self.rest(cache)
            #expect(try Self.held(cache) >= 29)
        }
    }

    @Test(
        "A small body of unknown length is stored while a large one already holds all the room that it may take",
        arguments: [false, true])
    func besideLarge(areRead: Bool) async throws {
        try await Self.withEntries(37, areRead: areRead) { (cache, _) async throws in
            let large = cache.reserve(try .data("large"), kind: .data)
            try Self.send(8_000_000, to: large)
            let small = cache.reserve(try .data("small"), kind: .data)
            #expect(try Self.send(20_000, to: small) == 20_000)
            _ = try await small.publish(EntryMetadata(ttl: .seconds(10)))
            large.abandon()
            try await Self.rest(cache)
            #expect(try cache.entry(for: "small") != nil)
        }
    }

    @Test("A body below a tenth of the limit replaces unread entries of a full cache, and is not evicted itself")
    func stored() async throws {
        try await Self.withEntries(37, areRead: false) { (cache, _) async throws in
            for number in 0..<5 {
                let reservation = cache.reserve(try .data("k\(number)"), kind: .data)
                #expect(try Self.send(350_000, to: reservation) == 350_000)
                let outcome = try await reservation.publish(EntryMetadata(ttl: .seconds(10)))
                #expect(outcome.entry.contentLength == 350_000)
                try await Self.rest(cache)
                #expect(try cache.entry(for: "k\(number)") != nil)
            }
        }
    }

    @Test("A body of unknown length may exceed a tenth of the limit if the room of expired entries suffices")
    func expired() async throws {
        try await Self.withEntries(37, areRead: true, ttl: .seconds(10)) { (cache, fixture) async throws in
            fixture.clock.advance(by: .seconds(60))
            let reservation = cache.reserve(try .data("k"), kind: .data)
            #expect(try Self.send(2_000_000, to: reservation) == 2_000_000)
            _ = try await reservation.publish(EntryMetadata(ttl: .seconds(10)))
            try await Self.rest(cache)
            #expect(try cache.entry(for: "k") != nil)
        }
    }

    @Test("An empty cache stores any body that leaves the head-room free, and refuses any longer body")
    func alone() async throws {
        for length in stride(from: 3_700_000, through: 4_100_000, by: 10_000) {
            let fixture = try CacheFixture { $0.diskLimit = Self.limit }
            try await fixture.withCache { cache async throws in
                let reservation = cache.reserve(try .data("k"), kind: .data)
                let isTaken = try Self.send(length, to: reservation) == length
                let isStored =
                    isTaken ? (try? await reservation.publish(EntryMetadata(ttl: .seconds(10)))) != nil : false
                reservation.abandon()
                try await Self.rest(cache)
                #expect(try (cache.entry(for: "k") != nil) == isStored, "\(length)")
                #expect(isStored == (length < 3_750_000), "\(length)")
            }
        }
    }

    @Test("The bytes of a body beyond its announced length are limited like a body of unknown length")
    func longerThanAnnounced() async throws {
        try await Self.withEntries(20, areRead: true) { (cache, _) async throws in
            let reservation = cache.reserve(try .data("k"), kind: .data)
            try reservation.expect(length: 1000)
            try Self.send(8_000_000, to: reservation)
            reservation.abandon()
            try await Self.rest(cache)
            #expect(try Self.held(cache) == 20)
        }
    }

    @Test("An announced length that leaves no room for metadata within the limit is refused, and no entry is evicted")
    func announcedAtTheLimit() async throws {
        try await Self.withEntries(20, areRead: true) { (cache, _) async throws in
            let most = Self.limit - DiskFullness.headRoom(ofLimit: Self.limit)
            for length in [Self.limit, most + 1, most, most - 500] {
                let reservation = cache.reserve(try .data("k"), kind: .data)
                #expect(throws: DiskCacheError.noSpace) { try reservation.expect(length: length) }
            }
            #expect(try Self.held(cache) == 20)
        }
    }

    @Test("A pinned body of unknown length that is too long is refused like an unpinned one, and evicts no read entry")
    func pinned() async throws {
        try await Self.withEntries(30, areRead: true) { (cache, _) async throws in
            let reservation = cache.reserve(try .data("k"), kind: .data, pinned: true)
            try Self.send(8_000_000, to: reservation)
            reservation.abandon()
            try await Self.rest(cache)
            #expect(try Self.held(cache) == 30)
        }
    }
}
