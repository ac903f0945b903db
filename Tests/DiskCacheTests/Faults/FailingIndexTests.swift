import Foundation
import GRDBSQLite
import Primitives
import TestSupport
import Testing

@testable import DiskCache

@Suite("An index on a disk that fails")
struct FailingIndexTests {
    /// A disk operation that fails, and the error for the caller.
    struct Fault: Sendable, CustomTestStringConvertible {
        var operation: FailingVFS.Operation
        var code: Int32
        var error: DiskCacheError

        var testDescription: String { "\(operation) ends with \(code)" }
    }

    private static let faults = [
        Fault(
            operation: .logWrite, code: SQLITE_IOERR | 3 << 8, error: .index(code: 778, message: "disk I/O error")),
        Fault(operation: .logWrite, code: SQLITE_FULL, error: .noSpace),
        Fault(
            operation: .logSync, code: SQLITE_IOERR | 4 << 8, error: .index(code: 1034, message: "disk I/O error")),
    ]

    private static let (long, short) = (longText(30_000), "short")

    /// Opens a cache on a disk that can fail, with one body in a file and one body in the slab.
    private static func open(_ layout: Layout) async throws -> (CacheFixture, FailingVFS.Faults, DiskCache) {
        let fixture = try CacheFixture(layout) { $0.durability = .power }
        let faults = FailingVFS.faults(below: fixture.directory.path)
        let cache = try fixture.open()
        try await cache.store(long, key: "long")
        try await cache.store(short, key: "short")
        return (fixture, faults, cache)
    }

    private static func expectAllHeld(_ cache: DiskCache) async throws {
        #expect(try await cache.text(key: "long") == long)
        #expect(try await cache.text(key: "short") == short)
        #expect(try cache.findings() == [])
    }

    @Test(
        "Each change fails with the disk's error and harms no entry; once the disk works again, changes succeed",
        arguments: faults, Layout.allCases)
    func changes(_ fault: Fault, _ layout: Layout) async throws {
        let (fixture, faults, cache) = try await Self.open(layout)
        defer { cache.close() }
        faults.set(fault.operation, fault.code)
        for key in ["long", "short", "new"] {
            await #expect(throws: fault.error) { try await cache.store(Self.long + "2", key: key) }
        }
        await #expect(throws: fault.error) { try await cache.remove("long") }
        await #expect(throws: fault.error) { try await cache.remove(matching: .all) }
        await #expect(throws: fault.error) { try await cache.update("short", tags: ["t"]) }
        #expect(faults.count.value > 0)
        faults.set(fault.operation, nil)
        try await Self.expectAllHeld(cache)
        #expect(cache.totals.entries == 2)
        try await cache.store(Self.long + "2", key: "long")
        #expect(try await cache.text(key: "long") == Self.long + "2")
        #expect(try await cache.remove("long"))
        try await cache.store(Self.long, key: "long")
        cache.close()
        try await fixture.withCache { cache async throws in try await Self.expectAllHeld(cache) }
    }

    @Test("Acknowledged stores stay in the log when the log cannot be written into the database file")
    func checkpoint() async throws {
        let (fixture, faults, cache) = try await Self.open(.hashed)
        faults.set(.databaseWrite, SQLITE_IOERR | 3 << 8)
        try await fill(cache, 500)
        cache.close()
        #expect(faults.count.value > 0)
        faults.set(.databaseWrite, nil)
        try await fixture.withCache { cache async throws in
            #expect(cache.totals.entries == 502)
            try await Self.expectAllHeld(cache)
        }
    }

    @Test("A look-up in an unreadable index is an error, not a miss, and no file is set aside or removed")
    func reading() async throws {
        let (fixture, faults, first) = try await Self.open(.hashed)
        // The entries fill more pages than a connection reads while it is opened.
        try await fill(first, 3000)
        first.close()
        let failure = SQLITE_IOERR | 1 << 8
        faults.set(.databaseRead, failure)
        #expect(throws: DiskCacheError.self) { try fixture.open() }
        faults.set(.databaseRead, nil)
        let cache = try fixture.open()
        defer { cache.close() }
        faults.set(.databaseRead, failure)
        var refused = 0
        for number in stride(from: 0, to: 3000, by: 100) {
            do throws(DiskCacheError) {
                let entry = try cache.entry(for: fillKey(number))
                #expect(entry != nil)
            } catch {
                #expect(error == .index(code: failure, message: "disk I/O error"))
                refused += 1
            }
        }
        #expect(refused > 0)
        faults.set(.databaseRead, nil)
        #expect(try cache.keys().count == 3002)
        try await Self.expectAllHeld(cache)
        #expect(!fixture.notices.elements.contains { $0.contains("set aside") })
        let names = try FileSystem.names(in: fixture.namespace)
        #expect(!names.contains { $0.contains("corrupt") || $0.contains("damaged") })
    }
}
