import Foundation
import Primitives
import TestSupport
import Testing

@testable import DiskCache

@Suite("Bodies that are served from the slab without entering the memory tier")
struct PassingTests {
    private static let body = longText(1000)

    private static func fixture(memoryLimit: Int = 256 << 10) throws -> CacheFixture {
        try CacheFixture { $0.memoryLimit = memoryLimit }
    }

    private static func passing(_ key: String, in cache: DiskCache, _ fixture: CacheFixture) -> PassingBody? {
        // Waits for the disk, because the kernel may have dropped pages that were in memory a moment ago.
        guard case .found(let body) = cache.passing(key, at: fixture.clock.now(), mayWait: true) else { return nil }
        return body
    }

    private static func text(_ body: PassingBody?) -> String? {
        body.map { body in body.bytes.withUnsafeBytes { String(decoding: $0[body.range], as: UTF8.self) } }
    }

    /// Stores entries and reads each of them once. Then the slot table has the slot of each entry, and
    /// the memory tier is full.
    private static func fill(_ cache: DiskCache, _ keys: [String]) async throws {
        for key in keys {
            try await cache.store(body + key, key: key) {
                $0.contentType = "text/\(key)"
                $0.lastModified = "Sat, 21 Nov 2026 10:00:00 GMT"
            }
        }
        try await cache.flush()
        for key in keys { _ = try cache.load(key) }
    }

    private static let keys = (0..<600).map { "k\($0)" }

    @Test("A body served straight from the slab has the stored bytes and metadata, and counts as a hit")
    func whole() async throws {
        let fixture = try Self.fixture()
        try await fixture.withCache { cache async throws in
            try await Self.fill(cache, Self.keys)
            var passed = 0
            for key in Self.keys {
                guard let found = Self.passing(key, in: cache, fixture) else { continue }
                passed += 1
                #expect(Self.text(found) == Self.body + key)
                #expect(found.contentType == "text/\(key)")
                #expect(found.lastModified == "Sat, 21 Nov 2026 10:00:00 GMT")
                let entry = try #require(try cache.entry(for: key))
                #expect(Array(entry.digest.prefix(16)) == found.digestPrefix)
                #expect(entry.hits == 1)
            }
            #expect(passed > 100)
        }
    }

    @Test("A body served straight from the slab enters the memory tier when it is requested again soon")
    func admitted() async throws {
        let fixture = try Self.fixture()
        try await fixture.withCache { cache async throws in
            try await Self.fill(cache, Self.keys)
            let key = try #require(Self.keys.first { Self.passing($0, in: cache, fixture) != nil })
            #expect(cache.parts.memory.peek(key) == nil)
            let misses = cache.memoryStatistics.misses
            #expect(Self.text(Self.passing(key, in: cache, fixture)) == Self.body + key)
            // If the index is not in the kernel's memory, a disk thread reads the entry, so the test waits.
            try await poll("the body in memory") { cache.parts.memory.peek(key) != nil }
            #expect(cache.memoryStatistics.misses == misses + 1)
            #expect(Self.passing(key, in: cache, fixture) == nil)
            guard case .hit(let stored) = try cache.load(key) else { throw TestFailure() }
            #expect(try stored.text() == Self.body + key)
            #expect(stored.entry.hits == 2)
        }
    }

    @Test("A body too large for the memory tier is served straight from the slab, however often it is requested")
    func large() async throws {
        let fixture = try Self.fixture(memoryLimit: 64 << 10)
        try await fixture.withCache { cache async throws in
            let (key, body) = ("large", String(repeating: Self.body, count: 10))
            try await cache.store(body, key: key)
            _ = try cache.load(key)
            try await Self.fill(cache, Self.keys)
            for _ in 0..<3 { #expect(Self.text(Self.passing(key, in: cache, fixture)) == body) }
            #expect(cache.parts.memory.peek(key) == nil)
            // The tier remembers the key, and would take a small body into memory. It cannot keep this body.
            #expect(cache.parts.memory.way(of: key, cost: body.utf8.count) == .past)
            #expect(cache.parts.memory.way(of: key, cost: 1) == .pastAndIn)
        }
    }

    private struct TestFailure: Error {}

    @Test("No body is served straight from the slab while the memory tier has room for it")
    func room() async throws {
        let keys = Array(Self.keys.prefix(10))
        let large = try Self.fixture(memoryLimit: 16 << 20)
        try await large.withCache { cache async throws in
            try await Self.fill(cache, keys)
            cache.emptyMemory()
            for key in keys { #expect(Self.passing(key, in: cache, large) == nil) }
        }
    }

    enum Change: CaseIterable, Sendable {
        case removed, purged, replaced, expired, slid, clockSetBack, retagged, shortened, spoiled, spoiledHead
    }

    @Test(
        "A body is not served straight from the slab after its entry or bytes change, or the clock is set back",
        arguments: Change.allCases)
    func changed(_ change: Change) async throws {
        let fixture = try Self.fixture()
        try await fixture.withCache { cache async throws in
            try await Self.fill(cache, Self.keys)
            // By now the tier has forgotten the first request for this key. The check takes another key, because a
            // second request would bring a key into memory.
            let key = Self.keys[0]
            #expect(Self.text(Self.passing(Self.keys[1], in: cache, fixture)) == Self.body + Self.keys[1])
            let entry = try #require(try cache.entry(for: key))
            let slot = try #require(try cache.parts.reader.row(forKey: key)?.slot)
            var expected: String? = Self.body + key
            switch change {
            case .removed:
                try await cache.remove(key)
                expected = nil
            case .purged:
                try await cache.remove(matching: .all)
                expected = nil
            case .replaced:
                try await cache.store("new", key: key)
                expected = "new"
            case .expired: fixture.clock.advance(by: .seconds(101))
            case .slid: _ = cache.slide(entry, ttl: .seconds(5))
            case .clockSetBack: fixture.clock.advance(by: .seconds(-1000))
            case .retagged: _ = try await cache.update(key, tags: ["new"])
            case .shortened: _ = try await cache.update(key, ttl: .seconds(5))
            case .spoiled:
                try fixture.spoil(slot)
                expected = nil
            case .spoiledHead:
                let file = try FileHandle(forWritingTo: URL(fileURLWithPath: fixture.namespace + "/bodies.slab"))
                try file.seek(toOffset: UInt64(slot.offset) + 24)
                try file.write(contentsOf: Data(repeating: 0x7F, count: 4))
                try file.close()
            }
            #expect(Self.passing(key, in: cache, fixture) == nil)
            let read = try await cache.text(key: key)
            #expect(read == expected)
            if change == .retagged { #expect(try cache.entry(for: key)?.tags == ["new"]) }
            if change == .slid || change == .shortened {
                #expect(try cache.entry(for: key)?.expiryDate == fixture.clock.now() + .seconds(5))
                try await cache.flush()
                // The slot may enter the slot table again, but not with the old expiry date.
                cache.emptyMemory()
                _ = try cache.load(key)
                fixture.clock.advance(by: .seconds(6))
                #expect(Self.passing(key, in: cache, fixture) == nil)
            }
        }
    }

    @Test(
        "After a caller's change of the ttl, but not after a hit's renewal, a load puts the slot back into the table")
    func followed() async throws {
        let fixture = try Self.fixture()
        try await fixture.withCache { cache async throws in
            try await Self.fill(cache, Self.keys)
            func isKnown(_ key: String) -> Bool { cache.parts.slotTable.find(ExactText(key).hashValue) != nil }
            for (key, isSlid) in [(Self.keys[0], false), (Self.keys[1], true)] {
                #expect(isKnown(key))
                let slot = try #require(try cache.parts.reader.row(forKey: key)?.slot)
                if isSlid {
                    _ = cache.slide(try #require(try cache.entry(for: key)), ttl: .seconds(50))
                    try await cache.flush()
                } else {
                    _ = try await cache.update(key, ttl: .seconds(50))
                }
                #expect(!isKnown(key))
                guard case .hit = try cache.load(key) else { throw TestFailure() }
                #expect(isKnown(key) == !isSlid)
                #expect((try cache.parts.reader.row(forKey: key)?.slot == slot) == isSlid)
            }
            #expect(try cache.findings() == [])
        }
    }

    @Test(
        "A slot that was read before the write of a renewed expiry date does not enter the slot table after this write")
    func slideWritten() async throws {
        let fixture = try Self.fixture()
        try await fixture.withCache { cache async throws in
            try await Self.fill(cache, Self.keys)
            let key = Self.keys[0]
            let hash = ExactText(key).hashValue
            let slot = try #require(try cache.parts.reader.row(forKey: key)?.slot)
            _ = cache.slide(try #require(try cache.entry(for: key)), ttl: .seconds(5))
            let ticket = cache.parts.slotTable.ticket(for: hash)
            try await cache.flush()
            cache.parts.slotTable.insert(hash, at: slot, ticket: ticket)
            fixture.clock.advance(by: .seconds(6))
            #expect(Self.passing(key, in: cache, fixture) == nil)
        }
    }

    @Test(
        "A request that tries the slab first is a miss of the memory tier only if it reads the body from the slab"
    )
    func unread() async throws {
        let fixture = try Self.fixture()
        try await fixture.withCache { cache async throws in
            try await Self.fill(cache, Self.keys)
            let (key, misses) = (Self.keys[0], cache.memoryStatistics.misses)
            fixture.clock.advance(by: .seconds(-1000))
            for _ in 0..<2 { #expect(Self.passing(key, in: cache, fixture) == nil) }
            #expect(cache.memoryStatistics.misses == misses)
            fixture.clock.advance(by: .seconds(1000))
            #expect(Self.passing(key, in: cache, fixture) != nil)
            #expect(cache.memoryStatistics.misses == misses + 1)
        }
    }

    @Test("With a memory limit of 0, no body is served straight from the slab, because the slot table has no room")
    func nothing() async throws {
        let fixture = try Self.fixture(memoryLimit: 0)
        try await fixture.withCache { cache async throws in
            try await Self.fill(cache, ["k"])
            #expect(Self.passing("k", in: cache, fixture) == nil)
        }
    }

    @Test("A body served straight from the slab is whole, although other tasks change entries at the same time")
    func beside() async throws {
        let fixture = try Self.fixture()
        try await fixture.withCache { cache async throws in
            let keys = Self.keys
            try await Self.fill(cache, keys)
            let isOver = Locked(false)
            async let passed: Int = blocking {
                @Sendable func check(_ text: String, _ key: String) {
                    #expect(text.hasPrefix(Self.body))
                    #expect(text.hasSuffix("|" + key) || text == Self.body + key)
                }
                var passed = 0
                repeat {
                    // This loop comes before the loads, because a body that `load` has just read is in memory.
                    for key in keys {
                        guard let text = Self.text(Self.passing(key, in: cache, fixture)) else { continue }
                        passed += 1
                        check(text, key)
                    }
                    for key in keys {
                        guard case .hit(let stored) = try cache.load(key) else { continue }
                        check(try stored.text(), key)
                    }
                } while !isOver.withLock { $0 }
                return passed
            }
            for round in 0..<6 {
                for (number, key) in keys.enumerated() where (number + round) % 3 == 0 {
                    if (number + round) % 2 == 0 {
                        try await cache.remove(key)
                    } else {
                        try await cache.store(Self.body + "\(round)|" + key, key: key)
                    }
                }
            }
            isOver.withLock { $0 = true }
            #expect(try await passed > 0)
            #expect(try cache.findings() == [])
        }
    }
}
