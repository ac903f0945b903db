import Foundation
import GRDB
import Testing

@testable import DiskCache

extension CacheFixture {
    /// Rewrites the index of the closed cache to format 2, in which small bodies are rows of a table.
    func goBackToFormat2() throws {
        let slab = try Slab(path: namespace + "/bodies.slab")
        let index = try DatabaseQueue(path: namespace + "/index.sqlite")
        try index.write { db in
            try db.execute(sql: "CREATE TABLE bodies (id INTEGER PRIMARY KEY, body BLOB NOT NULL)")
            for row in try Row.fetchAll(db, sql: "SELECT id, slot, contentLength FROM entries WHERE slot IS NOT NULL") {
                let content = try slab.content(of: try #require(Slot(code: row[1])))
                let start = SlabRecord.headLength
                let body = content.withUnsafeBytes { Data($0[start..<start + (row[2] as Int)]) }
                try db.execute(sql: "INSERT INTO bodies VALUES (?, ?)", arguments: [row[0] as Int64, body])
            }
            try goBackToFormat3(db)
            try db.execute(sql: "ALTER TABLE entries DROP COLUMN slot; DROP TABLE extents; PRAGMA user_version = 2")
        }
        try index.close()
        FileSystem.unlink(namespace + "/bodies.slab")
    }

    /// Rewrites the index of the closed cache to format 3, in which responses have no canonical URLs.
    func goBackToFormat3() throws {
        let index = try DatabaseQueue(path: namespace + "/index.sqlite")
        try index.write(goBackToFormat3)
        try index.close()
    }

    /// Rewrites the index of the closed cache to format 4, in which canonical URLs have no MD5.
    ///
    /// - Parameter entries: the URLs in the spelling of older rules, by their URLs in today's spelling.
    func goBackToFormat4(_ entries: [String: String]) throws {
        let index = try DatabaseQueue(path: namespace + "/index.sqlite")
        try index.write { db in
            for (url, old) in entries {
                try db.execute(
                    sql: "UPDATE entries SET key = ?, url = ?, host = ? WHERE url = ?",
                    arguments: [CacheKey.url(canonical: old).text, old, URLParts.host(of: old), url])
            }
            try db.execute(
                sql: """
                    DROP INDEX entriesByCanonicalKey; ALTER TABLE entries DROP COLUMN canonicalKey;
                    UPDATE entries SET canonicalURL = NULL; PRAGMA user_version = 4
                    """)
        }
        try index.close()
    }

    private func goBackToFormat3(_ db: Database) throws {
        try db.execute(
            sql: """
                DROP INDEX entriesByCanonicalKey; ALTER TABLE entries DROP COLUMN canonicalKey;
                DROP INDEX entriesByCanonicalURL; ALTER TABLE entries DROP COLUMN canonicalURL;
                PRAGMA user_version = 3
                """)
    }

    /// Overwrites the start of the body in a slot with other bytes.
    func spoil(_ slot: Slot) throws {
        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: namespace + "/bodies.slab"))
        try file.seek(toOffset: UInt64(slot.offset) + UInt64(SlabRecord.headLength))
        try file.write(contentsOf: Data("rotten".utf8))
        try file.close()
    }
}
