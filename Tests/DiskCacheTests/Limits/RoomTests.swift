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
}
