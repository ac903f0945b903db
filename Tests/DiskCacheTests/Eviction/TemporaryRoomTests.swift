import Primitives
import TestSupport
import Testing

@testable import DiskCache

@Suite("The room of temporary files")
struct TemporaryRoomTests {
    @Test("A temporary file counts against the disk limit until its room is released")
    func counts() async throws {
        let fixture = try CacheFixture { $0.diskLimit = 4_000_000 }
        try await fixture.withCache { cache async throws in
            let before = cache.takenDiskBytes.all
            var room: TemporaryRoom? = cache.makeTemporaryRoom()
            try room?.grow(to: 1_000_000)
            try room?.grow(to: 1_000_000)
            #expect(cache.takenDiskBytes.all == before + 1_000_000)
            // Longer steps than the missing bytes.
            try room?.grow(to: 1_000_001)
            #expect(cache.takenDiskBytes.all == before + 2_000_000)
            room = nil
            #expect(cache.takenDiskBytes.all == before)
        }
    }

    @Test("Entries are evicted for a temporary file, except pinned ones")
    func evicts() async throws {
        let fixture = try CacheFixture { $0.diskLimit = 4_000_000 }
        try await fixture.withCache { cache async throws in
            try await cache.store(longText(1_000_000), key: "pinned") { $0.pinned = true }
            for key in ["a", "b", "c", "d"] { try await cache.store(longText(600_000), key: key) }
            let room = cache.makeTemporaryRoom()
            try await blocking { try room.grow(to: 2_500_000) }
            #expect(cache.takenDiskBytes.all <= 4_000_000)
            #expect(try cache.entry(for: "pinned") != nil)
            await #expect(throws: DiskCacheError.noSpace) { try await blocking { try room.grow(to: 3_100_000) } }
            #expect(throws: DiskCacheError.noSpace) { try cache.makeTemporaryRoom().expect(600_000) }
            #expect(try cache.findings() == [])
        }
    }
}
