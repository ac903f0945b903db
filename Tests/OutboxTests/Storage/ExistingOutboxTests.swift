import Foundation
import GRDB
import Primitives
import TestSupport
import Testing

@testable import Outbox

/// The format of `outbox.sqlite`, which holds users' data, as a text of its own. A build that writes another format
/// needs another migration, and another text here.
struct ExistingOutboxTests {
    private let folder: TemporaryDirectory
    private var path: String { folder.path("outbox.sqlite") }

    init() throws { folder = try TemporaryDirectory() }

    private struct Table: Equatable {
        var name: String
        var sql: String?
    }

    private struct Format: Equatable {
        var application: Int?
        var version: Int?
        var tables: [Table]

        init(_ path: String) throws {
            let queue = try DatabaseQueue(path: path)
            defer { try? queue.close() }
            (application, version, tables) = try queue.read { db in
                let rows = try Row.fetchAll(db, sql: "SELECT name, sql FROM sqlite_master ORDER BY name")
                let tables = rows.map { row in
                    let words = (row["sql"] as String?)?.split(whereSeparator: \.isWhitespace)
                    return Table(name: row["name"], sql: words?.joined(separator: " "))
                }
                let application = try Int.fetchOne(db, sql: "PRAGMA application_id")
                return (application, try Int.fetchOne(db, sql: "PRAGMA user_version"), tables)
            }
        }
    }

    /// Writes a file of format 3 with a PUT that an origin has not confirmed, a credential and a pause.
    private func writeFile() throws {
        let queue = try DatabaseQueue(path: path)
        try queue.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA journal_mode = WAL")
            try db.execute(sql: Self.tables)
            try db.execute(
                sql: """
                    INSERT INTO changes (
                      id, namespace, caller, method, url, canonicalURL, key, origin, fields, edit, base, baseTag, baseDigest,
                      onConflict, onUncertain, created, state, attempts, mayBeApplied, isUnguarded, byteCount, skipsLook
                    ) VALUES (
                      7, 'notes', 'token-7', 'PUT', 'https://o.example/a', 'https://o.example/a', 'k', 'https://o.example',
                      '[["Content-Type","text/plain"]]', 'replace', 'version', '"1"', ?,
                      'merge', 'hold', 1800000000123, 'uncertain', 2, 1, 0, 40, 1
                    )
                    """, arguments: [Data(BodyDigest(of: Array("old".utf8)).bytes)])
            for (role, body) in [("base", "old"), ("ours", "new")] {
                try db.execute(sql: "INSERT INTO bodies VALUES (7, ?, ?)", arguments: [role, Data(body.utf8)])
            }
            try db.execute(
                sql: """
                    INSERT INTO credentials VALUES ('notes', 'work', '["https://o.example"]', '[["Cookie","a"]]');
                    INSERT INTO pauses VALUES ('https://o.example', 1800000000000, 1800000060000);
                    INSERT INTO pauses VALUES ('https://without.example', 1800000000000, 1800000060000);
                    """)
        }
        try queue.close()
    }

    @Test("A file of an earlier build opens with its changes, credentials and pauses, and gets the present format")
    func opens() throws {
        try writeFile()
        let store = try OutboxStore(directory: folder.path)
        let change = try #require(try store.change(7))
        #expect(change.draft.target.url == "https://o.example/a" && change.draft.ours == Array("new".utf8))
        #expect(change.draft.base.version?.body == Array("old".utf8))
        #expect(change.draft.base.version?.validator?.etag == "\"1\"")
        #expect(change.draft.fields == [ChangeField("Content-Type", "text/plain")])
        #expect(change.state == .uncertain && change.attempts == 2 && change.mayBeApplied && change.skipsLook)
        #expect(try store.unended().map(\.id) == [7])
        let credential = Credential(origins: ["https://o.example"], fields: [ChangeField("Cookie", "a")])
        #expect(try store.credential(namespace: "notes", name: "work") == credential)
        let start = Timestamp(seconds: 1_800_000_000)
        // The namespace with changes for the origin gets its pause.
        let pause = HostPause(
            namespace: "notes", origin: "https://o.example", start: start, end: start + .seconds(60))
        #expect(try store.pauses() == [pause])
        #expect(try store.notedDiscards().isEmpty)
        store.close()
        let migrated = try Format(path)
        let other = try TemporaryDirectory()
        try OutboxStore(directory: other.path).close()
        #expect(try Format(other.path("outbox.sqlite")) == migrated)
        #expect(TemporaryDirectory.mode(of: path) == 0o600)
    }

    @Test("A new file has the present format")
    func new() throws {
        try OutboxStore(directory: folder.path).close()
        let new = try Format(path)
        try FileManager.default.removeItem(atPath: path)
        let queue = try DatabaseQueue(path: path)
        try queue.writeWithoutTransaction { try $0.execute(sql: Self.tables + Self.laterTables) }
        try queue.close()
        #expect(try Format(path) == new)
    }

    /// Format 9 after format 3.
    private static let laterTables = """

        ALTER TABLE changes ADD COLUMN baseType TEXT;
        CREATE TABLE removals (namespace TEXT PRIMARY KEY);
        DROP INDEX changesByCallerKey;
        CREATE UNIQUE INDEX changesByCallerKey ON changes(namespace, caller, callerKey) WHERE callerKey IS NOT NULL;
        DROP TABLE pauses;
        CREATE TABLE pauses (
          namespace TEXT NOT NULL, origin TEXT NOT NULL, began INTEGER NOT NULL, ends INTEGER NOT NULL,
          PRIMARY KEY (namespace, origin)
        );
        ALTER TABLE removals ADD COLUMN version TEXT;
        ALTER TABLE removals ADD COLUMN isCreation INTEGER NOT NULL DEFAULT 0;
        PRAGMA user_version = 9;
        """

    private static let tables = """
        CREATE TABLE changes (
          id INTEGER PRIMARY KEY AUTOINCREMENT, namespace TEXT NOT NULL, caller TEXT NOT NULL, lane TEXT,
          method TEXT NOT NULL, url TEXT NOT NULL, canonicalURL TEXT NOT NULL, key TEXT NOT NULL, origin TEXT NOT NULL,
          fields TEXT NOT NULL, edit TEXT NOT NULL, base TEXT NOT NULL, baseTag TEXT, baseDigest BLOB,
          rewrittenBase BLOB, oursDigest BLOB, theirsTag TEXT, theirsDigest BLOB, onConflict TEXT NOT NULL,
          onUncertain TEXT NOT NULL, expires INTEGER, callerKey TEXT, payload BLOB, credential TEXT,
          created INTEGER NOT NULL, state TEXT NOT NULL, attempts INTEGER NOT NULL, problem TEXT, problemStatus INTEGER,
          nextAttempt INTEGER, mayBeApplied INTEGER NOT NULL, isUnguarded INTEGER NOT NULL, byteCount INTEGER NOT NULL,
          ended INTEGER
        );
        CREATE INDEX changesByState ON changes(namespace, state, byteCount);
        CREATE INDEX changesByKey ON changes(namespace, key);
        CREATE UNIQUE INDEX changesByCallerKey ON changes(caller, callerKey) WHERE callerKey IS NOT NULL;
        CREATE INDEX changesByEnd ON changes(namespace, ended) WHERE ended IS NOT NULL;
        CREATE TABLE bodies (
          change INTEGER NOT NULL REFERENCES changes(id) ON DELETE CASCADE, role TEXT NOT NULL, body BLOB NOT NULL,
          PRIMARY KEY (change, role)
        );
        CREATE TABLE credentials (
          namespace TEXT NOT NULL, name TEXT NOT NULL, origins TEXT NOT NULL, fields TEXT NOT NULL,
          PRIMARY KEY (namespace, name)
        );
        CREATE TABLE pauses (origin TEXT PRIMARY KEY, began INTEGER NOT NULL, ends INTEGER NOT NULL);
        ALTER TABLE changes ADD COLUMN skipsLook INTEGER NOT NULL DEFAULT 0;
        PRAGMA application_id = 1281642360; PRAGMA user_version = 3;
        """
}
