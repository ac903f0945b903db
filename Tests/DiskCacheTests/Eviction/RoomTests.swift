import Foundation
import Primitives
import TestSupport
import Testing

@testable import DiskCache

@Suite("The room on the disk")
struct RoomTests {
    @Test("If the cache cannot create the file that tests for free room, it does not report the disk as full")
    func notFull() throws {
        let temporary = try TemporaryDirectory()
        #expect(FileSystem.hasRoom(in: temporary.path))
        #expect(FileSystem.hasRoom(in: temporary.path("missing")))
        #expect(try FileSystem.names(in: temporary.path) == [])
    }

    @Test("The file by which a killed process tested for free room is removed at the next start")
    func leftBehind() async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { _ in }
        let probe = FileSystem.roomProbe(in: fixture.namespace + "/incoming")
        try Data(count: 65_536).write(to: URL(fileURLWithPath: probe))
        try await fixture.withCache { _ in }
        #expect(FileSystem.status(of: probe) == nil)
    }

    @Test("Checkpoints keep the write-ahead log of the index below 2 MiB while 4,000 stores write many times as much")
    func log() async throws {
        let fixture = try CacheFixture { $0.checkpointPages = 100 }
        try await fixture.withCache { cache async throws in
            var largest: Int64 = 0
            for round in 0..<40 {
                let done = Counter()
                for number in 0..<100 {
                    let reservation = cache.reserve(try .data(fillKey(number * 40 + round)), kind: .data)
                    try reservation.receive([1])
                    reservation.publish(EntryMetadata(ttl: .seconds(100))) { _ in done.add() }
                }
                try await done.wait(for: 100)
                let log = try #require(FileSystem.status(of: fixture.namespace + "/index.sqlite-wal"))
                largest = max(largest, log.identity.size)
            }
            #expect(try cache.keys().count == 4000)
            #expect(largest < 2 << 20)
        }
    }
}
