import Primitives
import TestSupport
import Testing

@testable import DiskCache

@Suite("The limits of a cache that is mostly pinned")
struct PinnedLimitTests {
    /// Runs `body` with a cache of four million bytes, nine tenths of them pinned. `left` is the number of free bytes.
    private func withPinned(_ body: (_ cache: DiskCache, _ left: Int) async throws -> Void) async throws {
        let fixture = try CacheFixture { $0.diskLimit = 4_000_000 }
        try await fixture.withCache { cache async throws in
            try await cache.store(longText(3_600_000), key: "pinned") { $0.pinned = true }
            try await body(cache, Int(4_000_000 - cache.totals.diskBytes))
            #expect(try cache.entry(for: "pinned") != nil)
            #expect(cache.totals.diskBytes <= 4_000_000)
            #expect(try cache.findings() == [])
        }
    }

    /// Returns the keys once the writer has finished its own work, such as an eviction.
    private func keys(_ cache: DiskCache) async throws -> [String] {
        try await cache.flush()
        try await cache.flush()
        return try cache.keys()
    }

    @Test("A newly stored entry is not evicted, although it leaves less than a sixteenth of the limit free")
    func stays() async throws {
        try await withPinned { (cache, left) async throws in
            try await cache.store(longText(left * 3 / 4), key: "stored")
            #expect(try await keys(cache) == ["pinned", "stored"])
        }
    }

    @Test("The cache refuses to store an entry that it would have to evict at once, and evicts no other entry for it")
    func refused() async throws {
        try await withPinned { (cache, left) async throws in
            try await cache.store(longText(left / 2), key: "other")
            let length = left - left / 32
            await #expect(throws: DiskCacheError.noSpace) { try await cache.store(longText(length), key: "refused") }
            let response = cache.reserve(responseTo: ResponseURL("http://h/a"))
            #expect(throws: DiskCacheError.noSpace) { try response.expect(length: Int64(length)) }
            #expect(try await keys(cache) == ["other", "pinned"])
        }
    }

    @Test("An entry is refused when its body fits beside the pinned entries, but the body and its long ETag do not")
    func texts() async throws {
        try await withPinned { (cache, left) async throws in
            // The body fits with short texts, but not with the long ETag.
            let length = left - left / 16 - 12_288
            let long = longText(16_000, "etag")
            await #expect(throws: DiskCacheError.noSpace) {
                try await cache.store(longText(length), key: "refused") { $0.etag = long }
            }
            #expect(try await keys(cache) == ["pinned"])
            try await cache.store(longText(length), key: "stored")
            #expect(try await keys(cache) == ["pinned", "stored"])
        }
    }

    @Test("A pinned entry may take all the room that is left, and so may its replacement")
    func pinned() async throws {
        try await withPinned { (cache, left) async throws in
            try await cache.store(longText(left / 2), key: "too") { $0.pinned = true }
            let rest = 4_000_000 - cache.totals.diskBytes
            // The replacement needs room beside the old body, which is removed only after the new body is stored.
            let next = cache.reserve(try .data("too"), kind: .data)
            try next.expect(length: rest - rest / 32)
            let other = cache.reserve(try .data("other"), kind: .data)
            #expect(throws: DiskCacheError.noSpace) { try other.expect(length: rest - rest / 32) }
            try await cache.store(longText(Int(rest - rest / 32)), key: "too") { $0.pinned = nil }
            #expect(try await keys(cache) == ["pinned", "too"])
        }
    }

    @Test("After the limit is lowered, entries that lose their pin are evicted without waiting for a store")
    func unpinned() async throws {
        let fixture = try CacheFixture { $0.diskLimit = 4_000_000 }
        try await fixture.withCache { cache async throws in
            for number in 0..<8 { try await cache.store(longText(400_000), key: "k\(number)") { $0.pinned = true } }
        }
        try await fixture.withCache({ $0.diskLimit = 1_000_000 }) { cache async throws in
            #expect(try await keys(cache).count == 8)
            for number in 0..<8 { _ = try await cache.update("k\(number)", pinned: false) }
            try await poll("a disk use within the lowered limit") { cache.totals.diskBytes <= 1_000_000 }
            #expect(try cache.findings() == [])
        }
    }
}
