import GRDB
import Primitives
import TestSupport
import Testing

@testable import DiskCache

@Suite("The scrub")
struct ScrubTests {
    /// Returns the largest number of steps of a pass. A step ends when it has checked enough rows or bytes.
    private static func steps(entries: Int64, bytes: Int64) -> Int64 {
        let totals = CacheTotals(entries: entries, bodyBytes: bytes, diskBytes: bytes, entriesByKind: [:])
        let pace = Scrubber.Pace(for: totals)
        return (entries + Int64(pace.rows) - 1) / Int64(pace.rows) + (bytes + pace.bytes - 1) / pace.bytes
    }

    @Test("A scrub that does one step each minute checks a large cache within a day")
    func pace() {
        let day: Int64 = 24 * 60
        #expect(Self.steps(entries: 1_000_000, bytes: 1 << 30) <= day)
        #expect(Self.steps(entries: 7_000_000, bytes: 180 << 30) <= day)
        #expect(Self.steps(entries: 10_000, bytes: 10 << 30) <= day)
        let huge = CacheTotals(entries: 1 << 40, bodyBytes: 1 << 50, diskBytes: 1 << 50, entriesByKind: [:])
        #expect(Scrubber.Pace(for: huge).rows == 10_000)
        #expect(Scrubber.Pace(for: huge).bytes == 256 << 20)
    }

    private func maintain(_ cache: DiskCache) async throws {
        let done = Gate("maintained")
        cache.maintain { done.open() }
        try await done.wait()
    }

    @Test("Each step of the scrub goes on after the entries of the previous step, until the last entry")
    func steps() async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            try await fill(cache, 450)
            for number in [0, 449] {
                let row = try #require(try cache.parts.reader.row(forKey: fillKey(number)))
                try fixture.spoil(try #require(row.slot))
            }
            var left: [Int64] = []
            for _ in 0..<3 {
                try await maintain(cache)
                left.append(cache.totals.entries)
            }
            #expect(left == [449, 449, 448])
        }
    }

    @Test("A body that cannot be read does not stop the scrub")
    func unreadable() async throws {
        let fixture = try CacheFixture { $0.inlineLimit = 0 }
        try await fixture.withCache { cache async throws in
            try await cache.store("unreadable", key: "a")
            let rotten = try await cache.store("rotten", key: "b")
            try edit(try #require(rotten.localPath)) { $0[0] ^= 1 }
            try await blocking {
                try cache.writer.perform { context in
                    let row = try #require(try context.index.row(forKey: "a"))
                    // The name is too long, so the system reports an error. The body is neither missing nor damaged.
                    try context.index.db.execute(
                        sql: "UPDATE entries SET path = ? WHERE id = ?",
                        arguments: [String(repeating: "x", count: 300), row.id])
                }
            }
            try await maintain(cache)
            #expect(fixture.notices.elements.contains("bodies could not be checked"))
            try await maintain(cache)
            #expect(try cache.keys() == ["a"])
        }
    }
}
