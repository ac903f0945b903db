import Foundation
import GRDB
import Primitives
import TestSupport
import Testing

@testable import Outbox

/// Files that must not be opened. Each stays as it is, byte for byte.
struct DamagedOutboxTests {
    private let folder: TemporaryDirectory
    private var path: String { folder.path + "/outbox.sqlite" }

    init() throws { folder = try TemporaryDirectory() }

    private func fill() throws {
        let store = try OutboxStore(directory: folder.path)
        for number in 0..<50 {
            try store.insert(
                .put(String(repeating: "x", count: 2000), on: "a=\(number)"), now: Timestamp(seconds: 1_800_000_000))
        }
        store.close()
    }

    private func refuses() throws -> OutboxError {
        let before = FileManager.default.contents(atPath: path)
        let error = try #require(throws: OutboxError.self) { try OutboxStore(directory: folder.path) }
        #expect(FileManager.default.contents(atPath: path) == before)
        #expect("\(error)".contains(path))
        return error
    }

    private func isDamage(_ error: OutboxError) -> Bool { if case .state(.damaged) = error { true } else { false } }

    @Test("A file that is no database is refused, and the error names it and says how to go on")
    func noDatabase() throws {
        _ = FileManager.default.createFile(atPath: path, contents: Data(repeating: 0x41, count: 10_000))
        let error = try refuses()
        #expect(isDamage(error) && "\(error)".contains("backup") && "\(error)".contains(".recover"))
    }

    @Test("A damaged page anywhere in the file is refused at the start", arguments: [0, 2, 5])
    func damagedPage(_ page: Int) throws {
        try fill()
        let file = try #require(FileHandle(forUpdatingAtPath: path))
        try file.seek(toOffset: UInt64(page * 4096 + (page == 0 ? 100 : 0)))
        try file.write(contentsOf: Data(repeating: 0xAA, count: 2000))
        try file.close()
        #expect(isDamage(try refuses()))
    }

    @Test("A file that was cut is refused")
    func cutFile() throws {
        try fill()
        truncate(path, 4096 * 6)
        #expect(isDamage(try refuses()))
    }

    @Test("An empty file beside a log with changes is refused, because SQLite would delete the log")
    func emptyFile() throws {
        _ = FileManager.default.createFile(atPath: path + "-wal", contents: Data(repeating: 1, count: 4096))
        let error = try #require(throws: OutboxError.self) { try OutboxStore(directory: folder.path) }
        #expect(isDamage(error))
        #expect(FileManager.default.contents(atPath: path + "-wal")?.count == 4096)
    }

    @Test("A database of another program is refused")
    func foreignDatabase() throws {
        let queue = try DatabaseQueue(path: path)
        try queue.write { try $0.execute(sql: "CREATE TABLE t (a)") }
        try queue.close()
        #expect(try refuses() == .state(.foreignFile(path: path)))
    }

    @Test("A newer format is refused, and the format of this build is opened again")
    func newerFormat() throws {
        try fill()
        try OutboxStore(directory: folder.path).close()
        let queue = try DatabaseQueue(path: path)
        try queue.writeWithoutTransaction { try $0.execute(sql: "PRAGMA user_version = 10") }
        try queue.close()
        let error = try #require(throws: OutboxError.self) { try OutboxStore(directory: folder.path) }
        #expect(error == .state(.newerFormat(path: path, found: 10, supported: 9)))
    }

    @Test("A second store for the same file is refused while the first is open")
    func secondStore() throws {
        let first = try OutboxStore(directory: folder.path)
        #expect(throws: OutboxError.state(.inUse(path: path))) { try OutboxStore(directory: folder.path) }
        first.close()
        try OutboxStore(directory: folder.path).close()
    }

    @Test("A directory that cannot be made is an error with its path")
    func noDirectory() throws {
        _ = FileManager.default.createFile(atPath: folder.path + "/file", contents: Data())
        let error = try #require(throws: OutboxError.self) { try OutboxStore(directory: folder.path + "/file/x") }
        #expect("\(error)".contains(folder.path + "/file/x"))
    }
}
