import GRDB

/// The tables of `index.sqlite`, and the steps from each format to the next.
///
/// | table | a row is |
/// |---|---|
/// | `entries` | all data about an entry except its body |
/// | `extents` | the used slots of one part of the slab (``SlabMap``) |
/// | `tags` | a pair of an entry and a tag |
/// | `totals` | the numbers of entries and bytes of one kind, updated by the transactions that change them |
/// | `counters` | `sequence`: the last number of a publish or a turn; `smallBytes`: the bytes in the small queue |
///
/// `entries.id` is the sequence number of the entry's first publish and is never used again.
///
/// Every index makes each store about a tenth slower. Each index therefore serves a query that is made again and again.
/// There is none for a query that a person makes now and then and that a scan of all rows can answer (the orders of
/// length and hits):
///
/// - of `key`: look-ups; prefixes of callers' keys; the default order of listings, where the other filters are tested
///   row by row.
/// - `entriesByKind`: purges of a kind, and its pages when the kind is rare. An index of kind and key would serve all
///   pages of a kind, but make stores a quarter slower, because keys come in no order.
/// - `entriesByURL`: a URL, prefixes, the order of URLs.
/// - `entriesByCanonicalURL`: a URL and prefixes, of entries whose URL is in another spelling, most of them responses.
///   There are few of them, and other entries are not in the index, so it does not slow down their stores.
/// - `entriesByCanonicalKey`: the MD5 of that URL, for removals by the key of a URL.
/// - `entriesByHost`: a host's purges and pages.
/// - `entriesByExpiry`: purges and counts by state, eviction of expired entries, the order of expiry.
/// - `entriesToEvict`: the eviction queues, without pinned entries. New rows come at their end.
/// - `entriesByAccess`: the order of access.
/// - `entriesToSweep`: the entries that the sweep of each minute removes, among all expired entries that stay.
/// - `entriesByPath`: the entry to which a body's file belongs.
///
/// `PRAGMA user_version` is the format's number.
enum Schema {
    /// The format that this program writes.
    static let format = steps.count

    /// `steps[n]` makes format `n + 1` of format `n`. A step that was released is never changed.
    private static let steps: [@Sendable (Database) throws -> Void] = [
        { try $0.execute(sql: initialTables) },
        { try $0.execute(sql: queues) },
        { try $0.execute(sql: slots) },
        { try $0.execute(sql: spellings) },
        canonicalKeys,
    ]

    /// Returns the format of the index without changing it; 0 for an empty database.
    ///
    /// Throws ``DiskCacheError/newerFormat(found:supported:)``, and ``Unreadable`` when there are tables but no format.
    static func format(of db: Database) throws -> Int {
        let found = try Int.fetchOne(db, sql: "PRAGMA user_version") ?? 0
        guard found <= format else { throw DiskCacheError.newerFormat(found: found, supported: format) }
        if found == 0, try Int.fetchOne(db, sql: "SELECT COUNT(*) FROM sqlite_master") != 0 { throw Unreadable() }
        return found
    }

    /// Brings the index to ``format``, in a single transaction. Throws the same errors as ``format(of:)``.
    static func migrate(_ db: Database) throws {
        let found = try format(of: db)
        guard found < format else { return }
        try db.inTransaction(.immediate) {
            for step in steps[found...] { try step(db) }
            try db.execute(sql: "PRAGMA user_version = \(format)")
            return .commit
        }
    }

    /// The file is a database of another program, or damaged.
    struct Unreadable: Error {}

    /// This text was changed without a new format until now, because none was released. An index of an earlier build
    /// may therefore lack some of it.
    private static let initialTables = """
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
          sweepable INTEGER NOT NULL
        );
        CREATE INDEX entriesByKind ON entries(kind);
        CREATE INDEX entriesByURL ON entries(url);
        CREATE INDEX entriesByHost ON entries(host) WHERE host IS NOT NULL;
        CREATE INDEX entriesByExpiry ON entries(expiry, pinned);
        CREATE INDEX entriesToEvict ON entries(lastAccess) WHERE pinned = 0;
        CREATE INDEX entriesPinned ON entries(lastAccess) WHERE pinned = 1;
        CREATE INDEX entriesToSweep ON entries(expiry) WHERE sweepable = 1;
        CREATE UNIQUE INDEX entriesByPath ON entries(path) WHERE path IS NOT NULL;
        CREATE TABLE bodies (id INTEGER PRIMARY KEY, body BLOB NOT NULL);
        CREATE TABLE tags (tag TEXT NOT NULL, id INTEGER NOT NULL, PRIMARY KEY (tag, id)) WITHOUT ROWID;
        CREATE TABLE totals (
          kind INTEGER PRIMARY KEY,
          entries INTEGER NOT NULL,
          bodyBytes INTEGER NOT NULL,
          diskBytes INTEGER NOT NULL,
          pinnedBytes INTEGER NOT NULL
        );
        CREATE TABLE counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
        INSERT INTO counters VALUES ('sequence', 0);
        """

    /// Entries that exist already go to the main queue, as if they had been requested again, in the order of their
    /// first publish.
    private static let queues = """
        ALTER TABLE entries ADD COLUMN queue INTEGER NOT NULL DEFAULT \(EvictionQueue.main.rawValue);
        ALTER TABLE entries ADD COLUMN frequency INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE entries ADD COLUMN turn INTEGER NOT NULL DEFAULT 0;
        DROP INDEX entriesToEvict;
        DROP INDEX entriesPinned;
        CREATE INDEX entriesByAccess ON entries(lastAccess);
        CREATE INDEX entriesToEvict ON entries(queue, turn) WHERE pinned = 0;
        INSERT INTO counters VALUES ('smallBytes', 0);
        """

    /// The bodies in the table `bodies` move to the slab afterwards (``MovedBodies``).
    private static let slots = """
        ALTER TABLE entries ADD COLUMN slot INTEGER;
        CREATE TABLE extents (
          number INTEGER PRIMARY KEY,
          class INTEGER NOT NULL,
          written INTEGER NOT NULL,
          used BLOB NOT NULL
        );
        """

    /// The next step fills the column.
    private static let spellings = """
        ALTER TABLE entries ADD COLUMN canonicalURL TEXT;
        CREATE INDEX entriesByCanonicalURL ON entries(canonicalURL) WHERE canonicalURL IS NOT NULL;
        """

    /// Canonical URLs become those of the rules for queries, IPv6 addresses and the dot at a host's end.
    ///
    /// A download or JSON whose URL is now another text keeps its key. Requests for the URL do not find it and store a
    /// new entry; filters find both.
    private static let canonicalKeys: @Sendable (Database) throws -> Void = { db in
        try db.execute(
            sql: """
                ALTER TABLE entries ADD COLUMN canonicalKey TEXT;
                CREATE INDEX entriesByCanonicalKey ON entries(canonicalKey) WHERE canonicalKey IS NOT NULL;
                """)
        var spelled: [(id: Int64, canonical: String)] = []
        let rows = try Row.fetchCursor(db, sql: "SELECT id, url FROM entries WHERE url <> ''")
        while let row = try rows.next() {
            if let canonical = ResponseURL.canonical(ofAny: row[1]) { spelled.append((row[0], canonical)) }
        }
        for (id, canonical) in spelled {
            try db.execute(
                sql: "UPDATE entries SET canonicalURL = ?, canonicalKey = ?, host = ? WHERE id = ?",
                arguments: [canonical, MD5Name.of(canonical), URLParts.host(of: canonical), id])
        }
    }
}

extension Entry.Kind {
    /// The number of the kind in the index. It is never changed.
    var code: Int {
        switch self {
        case .download: 0
        case .json: 1
        case .data: 2
        case .response: 3
        }
    }

    /// Creates the kind with a number; `nil` when no kind has it.
    init?(code: Int) {
        guard let kind = Self.allCases.first(where: { $0.code == code }) else { return nil }
        self = kind
    }
}
