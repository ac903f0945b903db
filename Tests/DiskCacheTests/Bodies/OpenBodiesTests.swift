import Foundation
import TestSupport
import Testing

@testable import DiskCache

@Suite("Open bodies")
struct OpenBodiesTests {
    /// Opens the file at `path` as each new reader does.
    private func open(_ path: String, _ bodies: OpenBodies) throws -> BodyFile {
        let file = try FileDescriptor(opening: path, O_RDONLY)
        let status = try #require(file.status())
        return bodies.shared(BodyFile(file, length: status.identity.size, path: path), status.identity)
    }

    @Test("All readers of a body share one descriptor, which is closed when the last reader is released")
    func shared() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path("body")
        try Data("first".utf8).write(to: URL(fileURLWithPath: path))
        let bodies = OpenBodies()
        var readers = try (0..<100).map { _ in try open(path, bodies) }
        #expect(Set(readers.map(\.descriptor)).count == 1)
        weak let body = readers.first
        readers = []
        #expect(body == nil)
    }

    @Test(
        "After the file of a body is replaced, a new reader opens the new file, and earlier readers keep the old file")
    func replaced() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path("body")
        let bodies = OpenBodies()
        try Data("first".utf8).write(to: URL(fileURLWithPath: path))
        let first = try open(path, bodies)
        try FileManager.default.removeItem(atPath: path)
        try Data("other".utf8).write(to: URL(fileURLWithPath: path))
        let other = try open(path, bodies)
        #expect(first !== other)
        #expect(try Array(first.readWhole()) == Array("first".utf8))
        #expect(try Array(other.readWhole()) == Array("other".utf8))
    }

    @Test("The table of open bodies drops bodies that no reader uses any more")
    func forgotten() throws {
        let directory = try TemporaryDirectory()
        let bodies = OpenBodies()
        for number in 0..<300 {
            let path = directory.path("\(number)")
            try Data("\(number)".utf8).write(to: URL(fileURLWithPath: path))
            _ = try open(path, bodies)
        }
        #expect(bodies.count <= 64)
    }
}
