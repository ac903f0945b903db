import Foundation
import GRDB
import TestSupport
import Testing

@testable import StateDatabase

@Suite("Databases of the state directory")
struct StateDatabaseTests {
    private static let schema = StateDatabase.Schema(
        file: "test.sqlite", application: 0x4C64_5473, migrations: ["CREATE TABLE rows (text TEXT)"])

    private func withDirectory(_ body: (String) throws -> Void) throws {
        let path = NSTemporaryDirectory() + "state-" + UUID().uuidString
        defer { try? FileManager.default.removeItem(atPath: path) }
        try body(path)
    }

    private func texts(_ database: StateDatabase) throws -> [String] {
        try database.read { try String.fetchAll($0, sql: "SELECT text FROM rows") }
    }

    @Test("A directory and its file are for the owner only, and rows last")
    func durable() throws {
        try withDirectory { directory in
            #expect(!StateDatabase.exists(Self.schema, in: directory))
            let first = try StateDatabase(directory: directory, schema: Self.schema)
            try first.write { try $0.execute(sql: "INSERT INTO rows VALUES ('a')") }
            for (path, mode) in [(directory, 0o700), (first.path, 0o600), (first.path + "-wal", 0o600)] {
                let attributes = try FileManager.default.attributesOfItem(atPath: path)
                #expect(attributes[.posixPermissions] as? Int == mode)
            }
            first.close()
            #expect(StateDatabase.exists(Self.schema, in: directory))
            let second = try StateDatabase(directory: directory, schema: Self.schema)
            #expect(try texts(second) == ["a"])
            second.close()
            #expect(throws: StateError.closed) { try texts(second) }
        }
    }

    @Test("An error within a transaction undoes all of it")
    func undone() throws {
        struct Stop: Error {}
        try withDirectory { directory in
            let database = try StateDatabase(directory: directory, schema: Self.schema)
            #expect(throws: Stop.self) {
                try database.write { db in
                    try db.execute(sql: "INSERT INTO rows VALUES ('a')")
                    throw Stop()
                }
            }
            #expect(try texts(database) == [])
        }
    }

    @Test("A second object cannot open the file")
    func inUse() throws {
        try withDirectory { directory in
            let database = try StateDatabase(directory: directory, schema: Self.schema)
            #expect(throws: StateError.inUse(path: database.path)) {
                try StateDatabase(directory: directory, schema: Self.schema)
            }
            #expect(try texts(database) == [])
        }
    }

    @Test("A foreign, a newer and a damaged file are refused and stay as they are")
    func refused() throws {
        try withDirectory { directory in
            let database = try StateDatabase(directory: directory, schema: Self.schema)
            let path = database.path
            database.close()
            let other = StateDatabase.Schema(file: "test.sqlite", application: 1, migrations: ["CREATE TABLE x (y)"])
            #expect(throws: StateError.foreignFile(path: path)) {
                try StateDatabase(directory: directory, schema: other)
            }
            let older = StateDatabase.Schema(file: "test.sqlite", application: Self.schema.application, migrations: [])
            #expect(throws: StateError.newerFormat(path: path, found: 1, supported: 0)) {
                try StateDatabase(directory: directory, schema: older)
            }
            let damaged = Data("SQLite format 3\0".utf8) + Data(repeating: 7, count: 8192)
            try damaged.write(to: URL(fileURLWithPath: path))
            #expect(throws: StateError.self) { try StateDatabase(directory: directory, schema: Self.schema) }
            #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == damaged)
        }
    }

    @Test(
        "A transaction in a file that was removed or replaced fails, because its rows would end with the process",
        arguments: ["", "-wal", nil])
    func removed(_ suffix: String?) throws {
        try withDirectory { directory in
            let database = try StateDatabase(directory: directory, schema: Self.schema)
            let insert: (Database) throws -> Void = { try $0.execute(sql: "INSERT INTO rows VALUES ('a')") }
            try database.write { _ in }
            try database.write(insert)
            try FileManager.default.removeItem(atPath: suffix.map { database.path + $0 } ?? directory)
            #expect(throws: StateError.removed(path: database.path)) { try database.write(insert) }
            if suffix == "" {
                try Data(repeating: 0, count: 8192).write(to: URL(fileURLWithPath: database.path))
                #expect(throws: StateError.removed(path: database.path)) { try database.write(insert) }
            }
            database.close()
            #expect(throws: StateError.closed) { try texts(database) }
        }
    }

    @Test("A row behind a symbolic link is stored, and the transaction does not report that the file was removed")
    func link() throws {
        try withDirectory { directory in
            let (name, other) = (directory + "/test.sqlite", directory + "/other/rows.sqlite")
            let insert: (Database) throws -> Void = { try $0.execute(sql: "INSERT INTO rows VALUES ('a')") }
            let files = FileManager.default
            try StateDatabase(directory: directory, schema: Self.schema).close()
            try files.createDirectory(atPath: directory + "/other", withIntermediateDirectories: false)
            try files.moveItem(atPath: name, toPath: other)
            try files.createSymbolicLink(atPath: name, withDestinationPath: "other/rows.sqlite")
            let database = try StateDatabase(directory: directory, schema: Self.schema)
            try database.write(insert)
            #expect(try texts(database) == ["a"] && database.path.hasSuffix("/other/rows.sqlite"))
            // The next start would not find the rows.
            try files.removeItem(atPath: name)
            #expect(throws: StateError.removed(path: database.path)) { try database.write(insert) }
            database.close()
        }
    }

    @Test("A symbolic link to no file or to an empty one is damage, because its target may be on a disk that is away")
    func brokenLink() throws {
        try withDirectory { directory in
            let (name, target) = (directory + "/test.sqlite", directory + "/target")
            let files = FileManager.default
            try files.createDirectory(atPath: directory, withIntermediateDirectories: false)
            try files.createSymbolicLink(atPath: name, withDestinationPath: target)
            #expect(StateDatabase.exists(Self.schema, in: directory))
            #expect(throws: StateError.damaged(path: name, reason: "the symbolic link leads to no file")) {
                try StateDatabase(directory: directory, schema: Self.schema)
            }
            #expect(!files.fileExists(atPath: target))
            try Data().write(to: URL(fileURLWithPath: target))
            #expect(throws: StateError.self) { try StateDatabase(directory: directory, schema: Self.schema) }
            #expect(try Data(contentsOf: URL(fileURLWithPath: target)).isEmpty)
        }
    }

    @Test("A state directory that is a file does not count as an empty one, and the error names the place")
    func noDirectory() throws {
        try withDirectory { path in
            try Data().write(to: URL(fileURLWithPath: path))
            #expect(StateDatabase.exists(Self.schema, in: path))
            let error = try #require(throws: StateError.self) {
                try StateDatabase(directory: path, schema: Self.schema)
            }
            #expect("\(error)".contains(path) && "\(error)".contains("read and write"), "\(error)")
        }
    }

    @Test("An empty file is a damaged one, because a new database gets its name when it has content")
    func empty() throws {
        try withDirectory { directory in
            let database = try StateDatabase(directory: directory, schema: Self.schema)
            #expect(try Data(contentsOf: URL(fileURLWithPath: database.path)).count >= 4096)
            #expect(try FileManager.default.contentsOfDirectory(atPath: directory).allSatisfy { !$0.contains("-new") })
            database.close()
            try Data().write(to: URL(fileURLWithPath: database.path))
            #expect(StateDatabase.exists(Self.schema, in: directory))
            #expect(throws: StateError.damaged(path: database.path, reason: "the file is empty")) {
                try StateDatabase(directory: directory, schema: Self.schema)
            }
            #expect(try Data(contentsOf: URL(fileURLWithPath: database.path)).isEmpty)
        }
    }

    @Test("A creation that fails leaves no file, and the rest of a killed creation does not stand in the way")
    func failedCreation() throws {
        try withDirectory { directory in
            let wrong = StateDatabase.Schema(
                file: Self.schema.file, application: Self.schema.application, migrations: ["CREATE nonsense"])
            #expect(throws: StateError.self) { try StateDatabase(directory: directory, schema: wrong) }
            #expect(try FileManager.default.contentsOfDirectory(atPath: directory) == [])
            for name in ["test.sqlite-new", "test.sqlite-new-wal"] {
                try Data(repeating: 7, count: 9000).write(to: URL(fileURLWithPath: directory + "/" + name))
            }
            let database = try StateDatabase(directory: directory, schema: Self.schema)
            try database.write { try $0.execute(sql: "INSERT INTO rows VALUES ('a')") }
            #expect(try texts(database) == ["a"])
        }
    }

    @Test("A first opening on an almost full disk leaves no damaged file: the opening succeeds when there is space")
    func fullDisk() throws {
        guard let disk = try SmallDisk(size: "8m") else { return }
        var refused = 0
        for pages in 1...40 {
            let directory = disk.mount.path("state-\(pages)")
            try disk.fill(leaving: pages * 4096)
            do {
                try StateDatabase(directory: directory, schema: Self.schema).close()
            } catch {
                #expect(error as? StateError == .noSpace, "\(pages) pages: \(error)")
                refused += 1
            }
            try FileManager.default.removeItem(atPath: disk.mount.path("filler"))
            let database = try StateDatabase(directory: directory, schema: Self.schema)
            try database.write { try $0.execute(sql: "INSERT INTO rows VALUES ('a')") }
            #expect(try texts(database) == ["a"])
            database.close()
            try FileManager.default.removeItem(atPath: directory)
        }
        #expect((1..<40).contains(refused))
    }

    @Test("The loss of the log takes no row that was in the database at the last checkpoint")
    func checkpoint() throws {
        try withDirectory { directory in
            let database = try StateDatabase(directory: directory, schema: Self.schema)
            try database.write { try $0.execute(sql: "INSERT INTO rows VALUES ('a')") }
            try database.checkpoint()
            try database.write { try $0.execute(sql: "INSERT INTO rows VALUES ('b')") }
            // A copy of the file alone is the state after a loss of the log.
            let copy = directory + "/copy"
            try FileManager.default.createDirectory(atPath: copy, withIntermediateDirectories: true)
            try FileManager.default.copyItem(atPath: database.path, toPath: copy + "/test.sqlite")
            let restored = try StateDatabase(directory: copy, schema: Self.schema)
            #expect(try texts(restored) == ["a"])
            #expect(try texts(database) == ["a", "b"])
            database.close()
            #expect(throws: StateError.closed) { try database.checkpoint() }
        }
    }

    @Test("A file that was moved away is reported until it is back, also if only the log is written into it")
    func movedAway() throws {
        try withDirectory { directory in
            let health = StateHealth()
            let database = try StateDatabase(directory: directory, schema: Self.schema, health: health)
            try database.write { try $0.execute(sql: "INSERT INTO rows VALUES ('a')") }
            try database.checkpoint()
            #expect(!health.isFailing)
            try FileManager.default.moveItem(atPath: database.path, toPath: directory + "/away")
            for _ in 0..<2 {
                #expect(throws: StateError.removed(path: database.path)) { try database.checkpoint() }
                #expect(health.isFailing)
            }
            try FileManager.default.moveItem(atPath: directory + "/away", toPath: database.path)
            try database.checkpoint()
            #expect(!health.isFailing)
            database.close()
        }
    }

    @Test("Damage is reported until the file is opened again")
    func reportedDamage() {
        let health = StateHealth()
        health.failed(StateError.damaged(path: "x", reason: "unreadable"))
        health.succeeded()
        #expect(health.isFailing)
        health.opened()
        #expect(!health.isFailing)
        for error in [StateError.noSpace, .closed] { health.failed(error) }
        #expect(!health.isFailing)
        health.failed(StateError.inUse(path: "x"))
        #expect(health.isFailing)
        health.succeeded()
        #expect(!health.isFailing)
    }

    @Test("An older file gets the tables of the present format, and keeps its rows")
    func migrated() throws {
        try withDirectory { directory in
            let first = try StateDatabase(directory: directory, schema: Self.schema)
            try first.write { try $0.execute(sql: "INSERT INTO rows VALUES ('a')") }
            first.close()
            let newer = StateDatabase.Schema(
                file: "test.sqlite", application: Self.schema.application,
                migrations: Self.schema.migrations + ["ALTER TABLE rows ADD COLUMN more TEXT"])
            let second = try StateDatabase(directory: directory, schema: newer)
            #expect(try texts(second) == ["a"])
            #expect(try second.read { try Int.fetchOne($0, sql: "PRAGMA user_version") } == 2)
        }
    }
}
