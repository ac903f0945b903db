import GRDB
import Primitives

extension Entry {
    /// How many responses to one URL are kept.
    ///
    /// Whoever looks for one looks at all of them, and so at no more than this: one beyond would never be found.
    public static let variantLimit = 256
}

extension WriteContext {
    /// Makes room for one more response to the URL of `key`: when there are as many as may be, the one that was stored
    /// or confirmed longest ago goes. `false` when all of them are pinned.
    func makeRoomForVariant(of key: CacheKey) throws -> Bool {
        guard try index.hasFullVariants(ofMD5: key.md5Hex) else { return true }
        let excess = try index.variantCount(ofMD5: key.md5Hex) - (Entry.variantLimit - 1)
        let oldest = try index.oldestVariants(ofMD5: key.md5Hex, limit: excess)
        for row in oldest { try remove(row) }
        return !oldest.isEmpty
    }
}

extension IndexWriter {
    /// Whether there are as many responses whose keys begin with that MD5 as may be: nearly always a look at one place.
    fileprivate func hasFullVariants(ofMD5 md5: String) throws -> Bool {
        var statement = try statements.fullVariants
        statement.bind(md5 + ".")
        statement.bind(md5 + "/")
        return try statement.hasRow()
    }

    /// How many responses there are whose keys begin with that MD5.
    fileprivate func variantCount(ofMD5 md5: String) throws -> Int {
        try db.cachedStatement(sql: Self.variantCountStatement).first([md5 + ".", md5 + "/"]) { $0[0] } ?? 0
    }

    /// Those of them that are not pinned and were stored or confirmed longest ago, at most `limit`.
    fileprivate func oldestVariants(ofMD5 md5: String, limit: Int) throws -> [EntryRow] {
        try rows(Self.oldestVariants(ofMD5: md5, limit: limit), limit: limit)
    }

    /// A slash is the character after the dot.
    static let variantCountStatement = "SELECT COUNT(*) FROM entries WHERE key > ? AND key < ?"

    /// See ``oldestVariants(ofMD5:limit:)``.
    static func oldestVariants(ofMD5 md5: String, limit: Int) -> EntryQuery {
        var query = EntryQuery(.all, now: Timestamp(milliseconds: 0))
        // By number first, so that no whole rows are sorted.
        query.restrict(
            """
            entries.id IN (SELECT id FROM entries WHERE key > ? AND key < ? AND +pinned = 0 \
            ORDER BY max(created, coalesce(downloadEnd, 0)), version LIMIT ?)
            """, [md5 + ".", md5 + "/", limit])
        return query
    }
}
