import Primitives
import TestSupport
import Testing

@testable import DiskCache

@Suite("Limits beside much that is pinned")
struct PinnedLimitTests {
    /// A cache of four million bytes, of which nine tenths are pinned; `left` is how many are not taken.
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

    /// Once whatever the writer does by itself is done.
    private func keys(_ cache: DiskCache) async throws -> [String] {
        try await cache.flush()
        try await cache.flush()
        return try cache.keys()
    }

    @Test("what is stored is not gone at once, though it takes more than a sixteenth of the whole limit leaves it")
    func stays() async throws {
        try await withPinned { (cache, left) async throws in
            try await cache.store(longText(left * 3 / 4), key: "stored")
            #expect(try await keys(cache) == ["pinned", "stored"])
        }
    }

    @Test("what would be gone at once is refused, and nothing else goes for it")
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

    @Test("its texts count")
    func texts() async throws {
        try await withPinned { (cache, left) async throws in
            // With the texts it would not stay, without them it would.
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

    @Test("what is pinned, too, may take all that is left, and so may what replaces it")
    func pinned() async throws {
        try await withPinned { (cache, left) async throws in
            try await cache.store(longText(left / 2), key: "too") { $0.pinned = true }
            let rest = 4_000_000 - cache.totals.diskBytes
            // Its old body goes only when the new one is there.
            let next = cache.reserve(try .data("too"), kind: .data)
            try next.expect(length: rest - rest / 32)
            let other = cache.reserve(try .data("other"), kind: .data)
            #expect(throws: DiskCacheError.noSpace) { try other.expect(length: rest - rest / 32) }
            try await cache.store(longText(Int(rest - rest / 32)), key: "too") { $0.pinned = nil }
            #expect(try await keys(cache) == ["pinned", "too"])
        }
    }

    @Test("what is no longer pinned, and above a limit that has become smaller, goes though nobody stores anything")
    func unpinned() async throws {
        let fixture = try CacheFixture { $0.diskLimit = 4_000_000 }
        try await fixture.withCache { cache async throws in
            for number in 0..<8 { try await cache.store(longText(400_000), key: "k\(number)") { $0.pinned = true } }
        }
        try await fixture.withCache({ $0.diskLimit = 1_000_000 }) { cache async throws in
            #expect(try await keys(cache).count == 8)
            for number in 0..<8 { _ = try await cache.update("k\(number)", pinned: false) }
            try await poll("what is too much to go") { cache.totals.diskBytes <= 1_000_000 }
            #expect(try cache.findings() == [])
        }
    }
}
