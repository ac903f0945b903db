import GRDB

/// The tables of `index.sqlite`.
///
/// | table | a row is |
/// |---|---|
/// | `entries` | all data about an entry except its body |
/// | `extents` | the used slots of one extent of the slab (``SlabMap``) |
/// | `tags` | a pair of an entry and a tag |
/// | `captures` | a capture of a page: with the id of its page's entry, or without one while it runs or once it is dropped |
/// | `uses` | a pair of a capture and the id of a resource that it uses |
/// | `holders` | a subscription or another holder of entries, with the number of its generation |
/// | `holds` | a pair of a holder and the id of an entry, a member of the holder's generation |
/// | `totals` | the numbers of entries and bytes of one kind, updated by the transactions that change them |
/// | `counters` | `sequence`: the last number given to a publish, or to a move in the eviction queues; `smallBytes`: the bytes in the small queue |
///
/// `entries.id` is the sequence number of the entry's first publish and is never used again. Every index makes each
/// store about a tenth slower, so each index serves a frequent query. The orders of length and of hits have none,
/// because a scan of all rows answers them and they are seldom requested. The indexes:
/// - of `key`: look-ups; prefixes of callers' keys; the default order of listings, where the other filters are tested
///   row by row.
/// - `entriesByKind`: purges of a kind, and pages of a rare kind. An index of kind and key would serve all pages of a
///   kind, but make stores a quarter slower, because keys come in no order.
/// - `entriesByURL`: a URL, prefixes, the order of URLs.
/// - `entriesByCanonicalURL`: a URL and prefixes, of entries with a URL in another spelling, all of them responses.
///   Other entries are not in the index, so it does not slow down their stores.
/// - `entriesByCanonicalKey`: the MD5 of the canonical URL, for removals by the key of a URL.
/// - `entriesByHost`: a host's purges and pages.
/// - `entriesByExpiry`: purges and counts by state, eviction of expired entries, the order of expiry.
/// - `entriesToEvict`: the eviction queues, without pinned entries. A new row comes at the end of its queue.
/// - `entriesByAccess`: the order of access.
/// - `entriesToSweep`: the entries that the sweep of each minute removes once they have expired.
/// - `entriesByPath`: the entry to which a body's file belongs.
/// - `capturesByPage`: a page's captures, and the captures without a page.
/// - `usesByResource`: whether a capture still uses a resource.
/// - `holdsByEntry`: whether a holder still holds an entry.
enum Schema {
    /// `PRAGMA user_version`. Format 7 added the captures of pages, format 8 the holders. Builds before format 6 were
    /// never released.
    static let format = 8
    static let firstFormat = 6
    private static let captureFormat = 7

    /// Returns 0 for an empty database. Throws ``DiskCacheError/newerFormat(found:supported:)`` and ``Unreadable``.
    static func format(of db: Database) throws -> Int {
        let found = try Int.fetchOne(db, sql: "PRAGMA user_version") ?? 0
        guard found <= format else { throw DiskCacheError.newerFormat(found: found, supported: format) }
        let isEmpty = try found == 0 && Int.fetchOne(db, sql: "SELECT COUNT(*) FROM sqlite_master") == 0
        guard (firstFormat...format).contains(found) || isEmpty else { throw Unreadable() }
        return found
    }

    /// Creates the tables that an empty or older database lacks, in a single transaction. Throws the same errors as
    /// ``format(of:)``.
    static func create(_ db: Database) throws {
        let found = try format(of: db)
        guard found < format else { return }
        try db.inTransaction(.immediate) {
            if found < firstFormat { try db.execute(sql: tables) }
            if found < captureFormat { try db.execute(sql: captureTables) }
            try db.execute(sql: holderTables)
            try db.execute(sql: "PRAGMA user_version = \(format)")
            return .commit
        }
    }

    /// The file is damaged, a database of another program, or an index of a build before the first release.
    struct Unreadable: Error {}

    private static let tables = """
        CREATE TABLE entries (
          id INTEGER PRIMARY KEY,
          key TEXT NOT NULL UNIQUE,
          kind INTEGER NOT NULL,
          url TEXT NOT NULL,
          host TEXT,
          params TEXT,
          status INTEGER NOT NULL,
          contentType TEXT,
          contentLength INTEGER NOT NULL,
          etag TEXT,
          lastModified TEXT,
          digest BLOB NOT NULL,
          isJSON INTEGER NOT NULL,
          downloadStart INTEGER,
          downloadEnd INTEGER,
          created INTEGER NOT NULL,
          ttl INTEGER NOT NULL,
          expiry INTEGER NOT NULL,
          staleAllowance INTEGER NOT NULL,
          pinned INTEGER NOT NULL,
          hits INTEGER NOT NULL,
          lastAccess INTEGER NOT NULL,
          cost INTEGER NOT NULL,
          version INTEGER NOT NULL,
          tagList TEXT,
          fields TEXT,
          path TEXT,
          inode INTEGER,
          modified INTEGER,
          changed INTEGER,
          queue INTEGER NOT NULL,
          frequency INTEGER NOT NULL,
          turn INTEGER NOT NULL,
          slot INTEGER,
          sweepable INTEGER NOT NULL,
          canonicalURL TEXT,
          canonicalKey TEXT
        );
        CREATE INDEX entriesByKind ON entries(kind);
        CREATE INDEX entriesByURL ON entries(url);
        CREATE INDEX entriesByCanonicalURL ON entries(canonicalURL) WHERE canonicalURL IS NOT NULL;
        CREATE INDEX entriesByCanonicalKey ON entries(canonicalKey) WHERE canonicalKey IS NOT NULL;
        CREATE INDEX entriesByHost ON entries(host) WHERE host IS NOT NULL;
        CREATE INDEX entriesByExpiry ON entries(expiry, pinned);
        CREATE INDEX entriesToEvict ON entries(queue, turn) WHERE pinned = 0;
        CREATE INDEX entriesByAccess ON entries(lastAccess);
        CREATE INDEX entriesToSweep ON entries(expiry) WHERE sweepable = 1;
        CREATE UNIQUE INDEX entriesByPath ON entries(path) WHERE path IS NOT NULL;
        CREATE TABLE extents (
          number INTEGER PRIMARY KEY,
          class INTEGER NOT NULL,
          written INTEGER NOT NULL,
          used BLOB NOT NULL
        );
        CREATE TABLE tags (tag TEXT NOT NULL, id INTEGER NOT NULL, PRIMARY KEY (tag, id)) WITHOUT ROWID;
        CREATE TABLE totals (
          kind INTEGER PRIMARY KEY,
          entries INTEGER NOT NULL,
          bodyBytes INTEGER NOT NULL,
          diskBytes INTEGER NOT NULL,
          pinnedBytes INTEGER NOT NULL
        );
        CREATE TABLE counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
        INSERT INTO counters VALUES ('sequence', 0), ('smallBytes', 0);
        """

    private static let captureTables = """
        CREATE TABLE captures (number INTEGER PRIMARY KEY, page INTEGER);
        CREATE INDEX capturesByPage ON captures(page);
        CREATE TABLE uses (
          capture INTEGER NOT NULL,
          resource INTEGER NOT NULL,
          PRIMARY KEY (capture, resource)
        ) WITHOUT ROWID;
        CREATE INDEX usesByResource ON uses(resource);
        """

    private static let holderTables = """
        CREATE TABLE holders (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, generation INTEGER NOT NULL);
        CREATE TABLE holds (
          holder INTEGER NOT NULL,
          entry INTEGER NOT NULL,
          PRIMARY KEY (holder, entry)
        ) WITHOUT ROWID;
        CREATE INDEX holdsByEntry ON holds(entry);
        """
}

extension DiskCacheError {
    init(_ error: any Error) {
        switch error {
        case let error as DiskCacheError: self = error
        case is Schema.Unreadable:
            self = .index(
                code: ResultCode.SQLITE_CORRUPT.rawValue,
                message: "the index is damaged, or not an index of Larder; the next server start sets it aside")
        case let error as DatabaseError where error.resultCode == .SQLITE_FULL: self = .noSpace
        case let error as DatabaseError where error.resultCode == .SQLITE_MISUSE: self = .closed
        case let error as DatabaseError:
            self = .index(code: error.extendedResultCode.rawValue, message: error.message ?? "unknown error")
        default: self = .index(code: -1, message: "\(error)")
        }
    }

    /// SQLite's primary result code; `nil` for an error of another kind.
    private var indexCode: ResultCode? {
        guard case .index(let code, _) = self else { return nil }
        return ResultCode(rawValue: code & 0xFF)
    }

    var isIndexIO: Bool { indexCode == .SQLITE_IOERR }
    var isBusy: Bool { indexCode == .SQLITE_BUSY }
    var isIndexDamage: Bool { indexCode == .SQLITE_CORRUPT || indexCode == .SQLITE_NOTADB }
}

func mappingErrors<T>(_ body: () throws -> T) throws(DiskCacheError) -> T {
    do {
        return try body()
    } catch {
        throw DiskCacheError(error)
    }
}
