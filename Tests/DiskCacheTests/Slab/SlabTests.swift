import Foundation
import GRDB
import Primitives
import TestSupport
import Testing

@testable import DiskCache

@Suite("The slab")
struct SlabTests {
    private static func blocks(of fixture: CacheFixture) throws -> Int64 {
        var raw = stat()
        try #require(lstat(fixture.namespace + "/bodies.slab", &raw) == 0)
        return Int64(raw.st_blocks) * 512
    }

    @Test("A body is not served from its slot when another body took the slot during the read")
    func reusedWhileRead() async throws {
        let fixture = try CacheFixture { $0.memoryLimit = 0 }
        try await fixture.withCache { cache async throws in
            try await cache.store(longText(1000, "first"), key: "first")
            let row = try #require(try cache.parts.reader.row(forKey: "first"))
            let slot = try #require(row.slot)
            try await cache.remove("first")
            try await cache.store(longText(1000, "other"), key: "other")
            #expect(try cache.parts.reader.row(forKey: "other")?.slot == slot)
            #expect(try cache.parts.slab.body(of: row.entry, in: slot) == nil)
            #expect(try await cache.text(key: "other") == longText(1000, "other"))
        }
    }

    @Test("The slab gives back the room of bodies of a size that is no longer stored")
    func compaction() async throws {
        let fixture = try CacheFixture { $0.diskLimit = 64 << 20 }
        try await fixture.withCache { cache async throws in
            let body = longText(3000)
            for number in 0..<6000 {
                try await cache.store(body, key: "\(number)", tags: number % 4 == 0 ? [] : ["go"])
            }
            let full = try Self.blocks(of: fixture)
            #expect(full >= 17 << 20)
            try await cache.remove(matching: EntryFilter(tag: "go"))
            // A quarter of the bodies is left. Free slots between them may take up to half of the head-room.
            try await poll("the room is given back") { try Self.blocks(of: fixture) <= full / 4 + 3 << 20 }
            #expect(try cache.findings() == [])
            for number in stride(from: 0, to: 6000, by: 4) { #expect(try await cache.text(key: "\(number)") == body) }
        }
        try await fixture.withCache { cache async throws in #expect(try cache.findings() == []) }
    }

    @Test("The compaction skips an extent with a damaged slab record, and goes on with other extents")
    func damagedRecord() async throws {
        let fixture = try CacheFixture { $0.diskLimit = 64 << 20 }
        try await fixture.withCache { cache async throws in
            let body = longText(3000)
            for number in 0..<6000 {
                try await cache.store(body, key: "\(number)", tags: number % 4 == 0 ? [] : ["go"])
            }
            let slot = try #require(try cache.parts.reader.row(forKey: "0")?.slot)
            let file = try FileHandle(forWritingTo: URL(fileURLWithPath: fixture.namespace + "/bodies.slab"))
            try file.seek(toOffset: UInt64(slot.offset) + 20)
            try file.write(contentsOf: [0xEE])
            try file.close()
            let full = try Self.blocks(of: fixture)
            try await cache.remove(matching: EntryFilter(tag: "go"))
            try await poll("the room is given back") { try Self.blocks(of: fixture) <= full / 4 + 5 << 20 }
            // The body is still served, because only the head of the body's ``SlabRecord`` is damaged.
            #expect(try await cache.text(key: "0") == body)
            #expect(try cache.parts.reader.row(forKey: "0")?.slot == slot)
            #expect(try cache.findings() == [])
        }
    }

    @Test("After a loss of the index the slab is emptied, because no row of the new index names a slot")
    func lostIndex() async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in try await fill(cache, 1000) }
        #expect(try Self.blocks(of: fixture) > 100 << 10)
        for name in ["index.sqlite", "index.sqlite-wal"] { FileSystem.unlink(fixture.namespace + "/" + name) }
        try await fixture.withCache { cache async throws in
            #expect(try Self.blocks(of: fixture) == 0)
            try await cache.store("new", key: "k")
            #expect(try cache.findings() == [])
        }
    }

    @Test("After the slab was removed during use, stores fail, because the next start would lose their bodies")
    func removed() async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            try await cache.store("held", key: "held")
            FileSystem.unlink(fixture.namespace + "/bodies.slab")
            #expect(!cache.isInPlace)
            await #expect(throws: DiskCacheError.indexLost(path: fixture.namespace + "/bodies.slab")) {
                try await cache.store("new", key: "new")
            }
            #expect(try await cache.text(key: "held") == "held")
        }
        try await fixture.withCache { cache async throws in
            #expect(try await cache.text(key: "held") == nil)
            #expect(try cache.findings() == [])
        }
    }

    @Test("A verification compares the used slots of the map with the rows of the index")
    func findings() async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            for number in 0..<3 { try await cache.store("\(number)", key: "\(number)") }
        }
        let index = try DatabaseQueue(path: fixture.namespace + "/index.sqlite")
        try await index.write { try $0.execute(sql: "UPDATE extents SET used = x'1d', written = 5") }
        try index.close()
        try await fixture.withCache { cache async throws in
            #expect(
                try cache.findings() == [
                    .damagedIndex(reason: "1 slots of entries are not marked as used"), .orphanSlots(count: 2),
                ])
        }
    }
}
