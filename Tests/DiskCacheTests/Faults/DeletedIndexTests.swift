import Foundation
import Primitives
import TestSupport
import Testing

@testable import DiskCache

@Suite("An index that was deleted while the cache was closed")
struct DeletedIndexTests {
    /// The files that a killed cache has lost.
    enum Loss: CaseIterable, Sendable {
        /// The index and its log.
        case both
        /// The index. The log is still there.
        case index
        /// The log, and with it the latest stores.
        case log
        /// The content of the log. The file has random bytes instead.
        case logOverwritten
    }

    private static let count = 40

    private static func body(_ number: Int) -> String { longText(number % 2 == 0 ? 500 : 20_000, "\(number)") }

    /// Stores half of the bodies, closes the cache, stores the other half and simulates a kill. So the index file
    /// has one half of the entries, and its log has the other half.
    private static func fixture(_ layout: Layout) async throws -> CacheFixture {
        let fixture = try CacheFixture(layout) { $0.inlineLimit = 1000 }
        try await fixture.withCache { cache async throws in
            for number in 0..<count / 2 { try await cache.store(body(number), key: "k\(number)") }
        }
        let isKilled = Counter()
        let cache = try fixture.open(crashHook: { point in
            if point == .beforeCommit, isKilled.value > 0 { throw SimulatedCrash() }
        })
        for number in count / 2..<count { try await cache.store(body(number), key: "k\(number)") }
        // A kill does not write the log into the database file, but the close of the last connection does. So copies
        // of both files are put back after the close.
        for name in ["index.sqlite", "index.sqlite-wal"] {
            let path = fixture.namespace + "/" + name
            try FileManager.default.copyItem(atPath: path, toPath: path + ".kept")
        }
        isKilled.add()
        await #expect(throws: DiskCacheError.closed) { try await cache.remove("k0") }
        cache.close()
        for name in ["index.sqlite", "index.sqlite-wal"] {
            let path = fixture.namespace + "/" + name
            FileSystem.unlink(path)
            #expect(FileSystem.rename(path + ".kept", to: path) == 0)
        }
        return fixture
    }

    @Test(
        "After a loss of the index or its log, the remaining entries are whole, and all other bodies are removed",
        arguments: Loss.allCases, Layout.allCases)
    func lost(_ loss: Loss, _ layout: Layout) async throws {
        let fixture = try await Self.fixture(layout)
        let index = fixture.namespace + "/index.sqlite"
        switch loss {
        case .both:
            FileSystem.unlink(index)
            FileSystem.unlink(index + "-wal")
        case .index: FileSystem.unlink(index)
        case .log: FileSystem.unlink(index + "-wal")
        case .logOverwritten:
            var random = SplitMix64(seed: 7)
            try edit(index + "-wal") { data in
                for place in data.indices { data[place] = UInt8(truncatingIfNeeded: random.next()) }
            }
        }
        try await fixture.withCache { cache async throws in
            let known = loss == .both || loss == .index ? 0 : Self.count / 2
            #expect(cache.totals.entries == known)
            for number in 0..<Self.count {
                let text = try await cache.text(key: "k\(number)")
                #expect(text == (number < known ? Self.body(number) : nil), "k\(number)")
            }
            let done = Gate("maintained")
            cache.maintain { done.open() }
            try await done.wait()
            #expect(try cache.findings() == [])
            try await cache.store("new", key: "k1")
            #expect(try await cache.text(key: "k1") == "new")
        }
        try await fixture.withCache { cache async throws in
            #expect(try await cache.text(key: "k1") == "new")
            #expect(try cache.findings() == [])
        }
    }
}
