import Foundation
import TestSupport
import Testing

@testable import DiskCache

@Suite("The limits of an open namespace")
struct ChangedLimitsTests {
    @Test("A smaller disk limit evicts unpinned entries in the background; a larger limit admits larger bodies")
    func disk() async throws {
        let fixture = try CacheFixture { $0.diskLimit = 4 << 20 }
        try await fixture.withCache { cache async throws in
            for number in 0..<20 { try await cache.store(longText(100_000), key: "k\(number)") }
            for number in 0..<5 { try await cache.store(longText(100_000), key: "p\(number)") { $0.pinned = true } }
            #expect(cache.takenDiskBytes.all == cache.totals.diskBytes)
            cache.setDiskLimit(1 << 20)
            try await poll("a disk use within the lowered limit") { cache.totals.diskBytes <= 1 << 20 }
            #expect(try cache.keys().filter { $0.hasPrefix("p") }.count == 5)
            cache.setDiskLimit(0)
            try await poll("the eviction of all unpinned entries") { try cache.keys().allSatisfy { $0.hasPrefix("p") } }
            #expect(cache.takenDiskBytes == (cache.totals.diskBytes, cache.totals.diskBytes))
            await #expect(throws: DiskCacheError.noSpace) { try await cache.store("x", key: "more") }
            cache.setDiskLimit(8 << 20)
            try await cache.store(longText(5 << 20), key: "large")
            #expect(try cache.findings() == [])
        }
    }

    @Test("A larger memory limit admits longer bodies to memory; a limit of 0 empties the memory tier")
    func memory() async throws {
        let fixture = try CacheFixture {
            $0.memoryLimit = 1 << 20
            $0.inlineLimit = 0
        }
        try await fixture.withCache { cache async throws in
            try await cache.store(longText(200_000), key: "k")
            func held() async throws -> Int {
                for _ in 0..<2 { #expect(try await cache.text(key: "k") == longText(200_000)) }
                return cache.memoryStatistics.bytes
            }
            // The memory tier keeps bodies up to a sixteenth of its limit.
            cache.emptyMemory()
            #expect(try await held() < 200_000)
            cache.setMemoryLimit(64 << 20)
            #expect(try await held() > 200_000)
            cache.setMemoryLimit(0)
            #expect(cache.memoryStatistics.bytes == 0)
            #expect(try await held() == 0)
        }
    }

    @Test("A ghost limit of 0 frees the memory of all ghosts")
    func ghosts() {
        var policy = S3FIFOPolicy()
        var totals = QueueTotals()
        (totals.entries, totals.bytes) = (100, 100)
        for hash in 0..<100 { policy.remember(hash: hash << 40, place: QueuePlace(queue: .main), totals: totals) }
        #expect(policy.memoryBytes > 0)
        policy.ghostLimit = 0
        #expect(policy.memoryBytes == 0)
    }

    @Test("An unreferenced cache stays open until its last store ends; then the directory of the cache can be removed")
    func life() async throws {
        let temporary = try TemporaryDirectory()
        let directory = try CacheDirectory(path: temporary.path)
        var cache: DiskCache? = try DiskCache(in: directory, configuration: CacheConfiguration())
        let life = try #require(cache?.life)
        var reservation = try cache?.reserve(.data("k"), kind: .data)
        try reservation?.receive([UInt8](repeating: 1, count: 100_000))
        cache = nil
        #expect(!life.isOver)
        #expect(try #require(life.takenDiskBytes) >= 100_000)
        reservation?.abandon()
        reservation = nil
        try await poll("the end of the cache") { life.isOver }
        #expect(life.takenDiskBytes == nil)
        let place = NamespaceDirectory(namespace: "default")
        #expect(!directory.remove(place) { false })
        #expect(try directory.namespaceDirectories() == [place])
        #expect(directory.remove(place))
        #expect(try directory.namespaceDirectories() == [])
    }
}
