import GRDB
import Primitives
import TestSupport
import Testing

@testable import DiskCache

@Suite("Bodies in an index of format 2")
struct MovedBodiesTests {
    @Test("All bodies move into the slab at the next start, even when a kill interrupts it", arguments: [nil, 1, 700])
    func moved(killedAt occurrence: Int?) async throws {
        let fixture = try CacheFixture { $0.inlineLimit = 2000 }
        try await fixture.withCache { cache async throws in
            try await fill(cache, 1200)
            try await cache.store(longText(5000), url: "http://h/file")
        }
        try fixture.goBackToFormat2()
        if let occurrence {
            let count = Counter()
            #expect(throws: DiskCacheError.closed) {
                try fixture.open(crashHook: { point in
                    if point == .slotWritten, count.add() == occurrence { throw SimulatedCrash() }
                })
            }
        }
        try await fixture.withCache { cache async throws in
            #expect(fixture.notices.elements.contains("bodies were moved from the index to the slab"))
            #expect(try cache.findings() == [])
            #expect(try cache.keys().count == 1201)
            #expect(try await cache.text(url: "http://h/file") == longText(5000))
            let tables = try cache.parts.index.list {
                try Int.fetchOne($0, sql: "SELECT COUNT(*) FROM sqlite_master WHERE name = 'bodies'")
            }
            #expect(tables == 0)
        }
    }
}
