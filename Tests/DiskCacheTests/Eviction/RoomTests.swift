import Foundation
import Primitives
import TestSupport
import Testing

@testable import DiskCache

@Suite("Whether there is room on the disk")
struct RoomTests {
    @Test("a disk on which nothing can be opened is not a full one")
    func notFull() throws {
        let temporary = try TemporaryDirectory()
        #expect(FileSystem.hasRoom(in: temporary.path))
        #expect(FileSystem.hasRoom(in: temporary.path("missing")))
        #expect(try FileSystem.names(in: temporary.path) == [])
    }

    @Test("a file that was to show it is gone after the next start when the process was killed meanwhile")
    func leftBehind() async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { _ in }
        let probe = FileSystem.roomProbe(in: fixture.namespace + "/incoming")
        try Data(count: 65_536).write(to: URL(fileURLWithPath: probe))
        try await fixture.withCache { _ in }
        #expect(FileSystem.status(of: probe) == nil)
    }

    @Test("the log takes no more than a group of bodies beyond what makes it begin anew, however many wait")
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
