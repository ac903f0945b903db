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
}
