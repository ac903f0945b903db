import Foundation
import GRDB
import Primitives
import Testing

@testable import DiskCache

@Suite("A statement that calls SQLite directly")
struct DirectStatementTests {
    private func withTable(_ body: (Database) throws -> Void) throws {
        try DatabaseQueue().inDatabase { db in
            try db.execute(sql: "CREATE TABLE t (id INTEGER PRIMARY KEY, text TEXT, blob BLOB NOT NULL)")
            try body(db)
        }
    }

    @Test("Bound values keep their content, and an empty text and an empty blob are not NULL")
    func values() throws {
        try withTable { db in
            var insert = DirectStatement(try db.cachedStatement(sql: "INSERT INTO t VALUES (?, ?, ?)"))
            let texts: [String?] = ["", nil, "é\"", String(repeating: "long ", count: 100)]
            let blobs: [[UInt8]] = [[], [0], [1, 2, 3], Array(repeating: 7, count: 5000)]
            for (number, (text, blob)) in zip(texts, blobs).enumerated() {
                insert.bind(number)
                insert.bind(text)
                insert.bind(blob)
                try insert.run()
            }
            let rows = try Row.fetchAll(db, sql: "SELECT text, blob FROM t")
            #expect(rows.map { $0[0] as String? } == texts)
            #expect(rows.map { Array($0[1] as Data) } == blobs)
            #expect(try Int.fetchOne(db, sql: "SELECT COUNT(*) FROM t WHERE typeof(blob) = 'blob'") == 4)
        }
    }

    @Test("A failed statement reports the reason and can be run again")
    func failure() throws {
        try withTable { db in
            var insert = DirectStatement(try db.cachedStatement(sql: "INSERT INTO t VALUES (?, ?, ?)"))
            func add(_ id: Int64) throws {
                insert.bind(id)
                insert.bind("x")
                insert.bind([1])
                try insert.run()
            }
            try add(1)
            let error = try #require(throws: DatabaseError.self) { try add(1) }
            #expect(error.resultCode == .SQLITE_CONSTRAINT)
            #expect(error.message?.contains("t.id") == true)
            try add(2)
            // A value that is not bound is NULL, not the value of the last run.
            insert.bind(Int64(3))
            #expect(throws: DatabaseError.self) { try insert.run() }
            #expect(try Int.fetchOne(db, sql: "SELECT COUNT(*) FROM t") == 2)
        }
    }

    @Test("A statement tells whether a row exists")
    func row() throws {
        try withTable { db in
            try db.execute(sql: "INSERT INTO t VALUES (1, 'a', x'')")
            var held = DirectStatement(try db.cachedStatement(sql: "SELECT 1 FROM t WHERE text = ?"))
            for (text, isThere) in [("a", true), ("b", false), ("a", true)] {
                held.bind(text)
                #expect(try held.hasRow() == isThere)
            }
        }
    }
}
