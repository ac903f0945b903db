import GRDB
import Primitives

extension Entry {
    /// How many responses to one URL are kept.
    ///
    /// Whoever looks for one looks at all of them, and so at no more than this: one beyond would never be found.
    public static let variantLimit = 256

    /// How many bytes the ``fields`` of all responses to one URL may have together; those of a single one may have
    /// more.
    ///
    /// Whoever looks for a response reads them all.
    public static let variantFieldsLimit = 512 << 10

    /// How many bytes ``fields`` has.
    var fieldsLength: Int { fields?.utf8.count ?? 0 }
}

extension WriteContext {
    /// Makes room for one more response to the URL of `key`: when there are as many as may be, the one that was stored
    /// or confirmed longest ago goes. `false` when all of them are pinned.
    func makeRoomForVariant(of key: CacheKey) throws -> Bool {
        guard try index.hasFullVariants(ofMD5: key.md5Hex) else { return true }
        let excess = try index.variantCount(ofMD5: key.md5Hex) - (Entry.variantLimit - 1)
        let oldest = try index.oldestVariants(ofMD5: key.md5Hex, limit: excess)
        for row in oldest { try remove(row, because: .variants, as: .evicted) }
        return !oldest.isEmpty
    }

    /// Makes room for the fields of one more response to the URL of `key`: as long as those of all have too many bytes
    /// together, the one goes that was stored or confirmed longest ago. `false` when those that are pinned leave no
    /// room; then none goes.
    ///
    /// - Parameters:
    ///   - length: how many bytes the fields will have.
    ///   - old: the entry of that key; one that is held already stays, however little room there is.
    func makeRoomForFields(of key: CacheKey, length: Int, replacing old: Entry?) throws -> Bool {
        let oldLength = old?.fieldsLength ?? 0
        let limit = Entry.variantFieldsLimit - length
        guard length > oldLength, try index.hasFields(ofMD5: key.md5Hex, longerThan: limit + oldLength) else {
            return true
        }
        let others = try index.variantFields(ofMD5: key.md5Hex, but: key.text)
        var held = others.reduce(0) { $0 + $1.length }
        var oldest: [Int64] = []
        for other in others where !other.isPinned && held > limit {
            held -= other.length
            oldest.append(other.id)
        }
        // One that is alone may have as many as it likes.
        let hasRoom = held <= limit || oldest.count == others.count
        guard hasRoom || old != nil else { return false }
        for id in oldest {
            if let row = try index.row(forID: id) { try remove(row, because: .variants, as: .evicted) }
        }
        return true
    }
}

extension IndexWriter {
    /// Whether there may be a response whose key begins with that MD5; a caller's key that begins alike counts, too.
    func hasVariants(ofMD5 md5: String) throws -> Bool {
        var statement = try statements.variant
        let (first, last) = ResponseKeys.bounds(ofMD5: md5)
        statement.bind(first)
        statement.bind(last)
        return try statement.hasRow()
    }

    /// Whether there are as many responses whose keys begin with that MD5 as may be: nearly always a look at one place.
    fileprivate func hasFullVariants(ofMD5 md5: String) throws -> Bool {
        var statement = try statements.fullVariants
        let (first, last) = ResponseKeys.bounds(ofMD5: md5)
        statement.bind(first)
        statement.bind(last)
        return try statement.hasRow()
    }

    /// Whether the fields of the responses whose keys begin with that MD5 have more bytes than `limit` together.
    fileprivate func hasFields(ofMD5 md5: String, longerThan limit: Int) throws -> Bool {
        var statement = try statements.longFields
        let (first, last) = ResponseKeys.bounds(ofMD5: md5)
        statement.bind(first)
        statement.bind(last)
        statement.bind(limit)
        return try statement.hasRow()
    }

    /// The responses whose keys begin with that MD5, but for that of `key`: those first that were stored or confirmed
    /// longest ago.
    fileprivate func variantFields(
        ofMD5 md5: String, but key: String
    ) throws -> [(id: Int64, isPinned: Bool, length: Int)] {
        let (first, last) = ResponseKeys.bounds(ofMD5: md5)
        return try db.cachedStatement(sql: Self.variantFieldsStatement).all([first, last, key]) { row in
            (id: row[0] as Int64, isPinned: row[1] as Bool, length: row[2] as Int)
        }
    }

    /// See ``variantFields(ofMD5:but:)``.
    static let variantFieldsStatement = """
        SELECT id, pinned, length(CAST(fields AS BLOB)) FROM entries WHERE \(ResponseKeys.condition()) AND key <> ? \
        ORDER BY max(created, coalesce(downloadEnd, 0)), version
        """

    /// How many responses there are whose keys begin with that MD5.
    fileprivate func variantCount(ofMD5 md5: String) throws -> Int {
        let (first, last) = ResponseKeys.bounds(ofMD5: md5)
        return try db.cachedStatement(sql: Self.variantCountStatement).first([first, last]) { $0[0] } ?? 0
    }

    /// Those of them that are not pinned and were stored or confirmed longest ago, at most `limit`.
    fileprivate func oldestVariants(ofMD5 md5: String, limit: Int) throws -> [EntryRow] {
        try rows(Self.oldestVariants(ofMD5: md5, limit: limit), limit: limit)
    }

    static let variantCountStatement = "SELECT COUNT(*) FROM entries WHERE \(ResponseKeys.condition())"

    /// See ``oldestVariants(ofMD5:limit:)``.
    static func oldestVariants(ofMD5 md5: String, limit: Int) -> EntryQuery {
        var query = EntryQuery(.all, now: Timestamp(milliseconds: 0))
        let (first, last) = ResponseKeys.bounds(ofMD5: md5)
        // By number first, so that no whole rows are sorted.
        query.restrict(
            """
            entries.id IN (SELECT id FROM entries WHERE \(ResponseKeys.condition()) AND +pinned = 0 \
            ORDER BY max(created, coalesce(downloadEnd, 0)), version LIMIT ?)
            """, [first, last, limit])
        return query
    }
}
