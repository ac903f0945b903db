import Foundation
import GRDB
import Primitives
import TestSupport
import Testing

@testable import DiskCache

@Suite("SQLite over the VFS that gathers writes")
struct ProcessVFSTests {
    /// Opens a database with so small a page cache that transactions reach the log before they are committed.
    private static func open(_ path: String, synchronous: String) throws -> DatabaseQueue {
        ProcessVFS.use()
        var configuration = Configuration()
        configuration.prepareDatabase { db in
            try db.execute(
                sql: """
                    PRAGMA journal_mode = WAL; PRAGMA synchronous = \(synchronous); PRAGMA cache_size = 5;
                    PRAGMA wal_autocheckpoint = 0;
                    """)
        }
        let queue = try DatabaseQueue(path: path, configuration: configuration)
        try queue.write { try $0.execute(sql: "CREATE TABLE rows (id INTEGER PRIMARY KEY, text TEXT)") }
        return queue
    }

    /// Returns the database's integrity check and rows as the next start finds them after a kill at this moment.
    private static func afterKill(_ path: String, in directory: TemporaryDirectory) throws -> (
        check: String, rows: [String]
    ) {
        let copy = directory.path("copy")
        for suffix in ["", "-wal"] {
            try? FileManager.default.removeItem(atPath: copy + suffix)
            try FileManager.default.copyItem(atPath: path + suffix, toPath: copy + suffix)
        }
        return try DatabaseQueue(path: copy).read { db in
            (
                try String.fetchOne(db, sql: "PRAGMA integrity_check") ?? "",
                try String.fetchAll(db, sql: "SELECT text FROM rows ORDER BY id")
            )
        }
    }

    @Test(
        "After a kill, the database has all returned commits, and no uncommitted change",
        arguments: ["NORMAL", "FULL"])
    func kill(synchronous: String) throws {
        let directory = try TemporaryDirectory()
        let path = directory.path("index")
        let queue = try Self.open(path, synchronous: synchronous)
        func text(_ number: Int, _ turn: Int) -> String { "\(number)-\(turn)-" + String(repeating: "x", count: 900) }
        var expected = (0..<300).map { text($0, 0) }
        try queue.write { db in
            for row in expected.enumerated() {
                try db.execute(sql: "INSERT INTO rows VALUES (?, ?)", arguments: [row.offset, row.element])
            }
        }
        #expect(try Self.afterKill(path, in: directory) == ("ok", expected))

        // Changes the same pages several times in one transaction and reads them in between, so that SQLite
        // rewrites pages that are already in the log.
        try queue.write { db in
            for turn in 1...4 {
                for number in stride(from: 0, to: 300, by: turn) {
                    expected[number] = text(number, turn)
                    try db.execute(sql: "UPDATE rows SET text = ? WHERE id = ?", arguments: [expected[number], number])
                }
                #expect(try String.fetchAll(db, sql: "SELECT text FROM rows ORDER BY id") == expected)
            }
            #expect(try Self.afterKill(path, in: directory).check == "ok")
        }
        #expect(try Self.afterKill(path, in: directory) == ("ok", expected))

        try queue.writeWithoutTransaction { db in
            try db.beginTransaction()
            try db.execute(sql: "UPDATE rows SET text = 'lost'")
            try db.execute(sql: "SAVEPOINT inner; DELETE FROM rows WHERE id > 100; ROLLBACK TO inner")
            try db.rollback()
            try db.execute(sql: "UPDATE rows SET text = text || '!' WHERE id = 7")
        }
        expected[7] += "!"
        #expect(try Self.afterKill(path, in: directory) == ("ok", expected))

        // The log begins anew after a checkpoint.
        try queue.writeWithoutTransaction { _ = try $0.checkpoint(.restart) }
        try queue.write { try $0.execute(sql: "UPDATE rows SET text = text || '?'") }
        #expect(try Self.afterKill(path, in: directory) == ("ok", expected.map { $0 + "?" }))
        try queue.close()
        #expect(try DatabaseQueue(path: path).read { try Int.fetchOne($0, sql: "SELECT COUNT(*) FROM rows") } == 300)
    }

    @Test("The writing connection yields its processor between pages of the log; a reading connection does not")
    func offers() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path("index")
        let queue = try Self.open(path, synchronous: "OFF")
        // Each row fills a page.
        try queue.write { db in
            for _ in 0..<300 {
                try db.execute(
                    sql: "INSERT INTO rows (text) VALUES (?)", arguments: [String(repeating: "x", count: 3500)])
            }
        }
        let reader = try DatabaseQueue(path: path)
        try reader.read { try $0.execute(sql: "PRAGMA cache_size = 5") }
        let sum = "SELECT SUM(LENGTH(text)) FROM rows"
        #expect(try !Self.offersProcessor { _ = try reader.read { try Int.fetchOne($0, sql: sum) } })
        // Without a checkpoint, all pages are in the log.
        #expect(try Self.offersProcessor { _ = try queue.read { try Int.fetchOne($0, sql: sum) } })

        // The checkpoint empties the log, so the UPDATE reads no page from it. SQLite writes the changed pages to the
        // log before the ROLLBACK, because the page cache has room for only 5 pages.
        try queue.writeWithoutTransaction { _ = try $0.checkpoint(.truncate) }
        let writesOffer = try Self.offersProcessor {
            try queue.writeWithoutTransaction { db in
                try db.execute(sql: "BEGIN IMMEDIATE; UPDATE rows SET text = 'y' || substr(text, 2); ROLLBACK")
            }
        }
        #expect(writesOffer)
    }

    /// Returns whether the thread yields its processor during 100 calls of `step`, which take more than 200 µs.
    private static func offersProcessor(_ step: () throws -> Void) throws -> Bool {
        Processor.share()
        let start = Processor.turnStart
        for _ in 0..<100 { try step() }
        return Processor.turnStart != start
    }

    @Test("Readers see each commit as soon as it returns, and no change before")
    func readers() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path("index")
        let queue = try Self.open(path, synchronous: "NORMAL")
        let reader = try DatabaseQueue(path: path)
        func count() throws -> Int? { try reader.read { try Int.fetchOne($0, sql: "SELECT COUNT(*) FROM rows") } }
        for turn in 0..<20 {
            try queue.write { db in
                for _ in 0..<50 {
                    try db.execute(
                        sql: "INSERT INTO rows (text) VALUES (?)", arguments: [String(repeating: "x", count: 900)])
                }
                #expect(try count() == turn * 50)
            }
            #expect(try count() == (turn + 1) * 50)
        }
    }
}
