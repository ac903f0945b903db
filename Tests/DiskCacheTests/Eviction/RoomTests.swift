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

    @Test("The write-ahead log of the index stays below 26 MiB when many large bodies wait to be stored")
    func log() async throws {
        let fixture = try CacheFixture { $0.inlineLimit = 1 << 20 }
        try await fixture.withCache { cache async throws in
            let gate = Gate("group")
            try await cache.holdWriter(until: gate)
            let body = Array(longText(1 << 20).utf8)
            let done = Counter()
            for number in 0..<48 {
                let reservation = cache.reserve(try .data(fillKey(number)), kind: .data)
                try reservation.receive(body)
                reservation.publish(EntryMetadata(ttl: .seconds(100))) { _ in done.add() }
            }
            gate.open()
            try await done.wait(for: 48)
            #expect(try cache.keys().count == 48)
            let log = try #require(FileSystem.status(of: fixture.namespace + "/index.sqlite-wal"))
            #expect(log.identity.size < 26 << 20)
        }
    }
}
