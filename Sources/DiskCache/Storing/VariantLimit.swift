import GRDB
import Primitives

extension Entry {
    /// The most responses to a URL that the cache keeps.
    ///
    /// A look-up reads at most so many responses of a URL, so it would never find a further response.
    package static let variantLimit = 256

    /// The most bytes that the ``fields`` of all responses to a URL may have together. The fields of a single response
    /// may have more.
    ///
    /// A look-up reads the fields of all responses of a URL.
    package static let variantFieldsLimit = 512 << 10

    /// The length of ``fields``, in bytes.
    var fieldsLength: Int { fields?.utf8.count ?? 0 }
}

extension WriteContext {
    /// Makes room for another response to the URL of `key`. At the limit, the response that was stored or confirmed
    /// longest ago is evicted. Returns `false` when all responses are pinned.
    func makeRoomForVariant(of key: CacheKey) throws -> Bool {
        guard try index.hasFullVariants(ofMD5: key.md5Hex) else { return true }
        let excess = try index.variantCount(ofMD5: key.md5Hex) - (Entry.variantLimit - 1)
        let oldest = try index.oldestVariants(ofMD5: key.md5Hex, limit: excess)
        for row in oldest { try remove(row, because: .variants, as: .evicted) }
        return !oldest.isEmpty
    }

    /// Makes room for the fields of another response to the URL of `key`. While all fields together have too many
    /// bytes, the response that was stored or confirmed longest ago is evicted. Returns `false`, and evicts no
    /// response, when the pinned responses leave no room.
    ///
    /// - Parameters:
    ///   - length: the length of the new fields, in bytes.
    ///   - old: the current entry of `key`. An entry that exists already stays, however little room there is: then the
    ///     result is always `true`.
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
        // The fields of a single response may have any length.
        let hasRoom = held <= limit || oldest.count == others.count
        guard hasRoom || old != nil else { return false }
        for id in oldest {
            if let row = try index.row(forID: id) { try remove(row, because: .variants, as: .evicted) }
        }
        return true
    }
}

extension IndexWriter {
    /// Whether there may be a response with that MD5. A caller's own key with the same beginning counts, too.
    func hasVariants(ofMD5 md5: String) throws -> Bool {
        var statement = try statements.variant
        let (first, last) = ResponseKeys.bounds(ofMD5: md5)
        statement.bind(first)
        statement.bind(last)
        return try statement.hasRow()
    }

    /// Whether the number of responses with that MD5 has reached the limit. The query nearly always looks at a single
    /// place.
    fileprivate func hasFullVariants(ofMD5 md5: String) throws -> Bool {
        var statement = try statements.fullVariants
        let (first, last) = ResponseKeys.bounds(ofMD5: md5)
        statement.bind(first)
        statement.bind(last)
        return try statement.hasRow()
    }

    /// Whether the fields of all responses with that MD5 together have more than `limit` bytes.
    fileprivate func hasFields(ofMD5 md5: String, longerThan limit: Int) throws -> Bool {
        var statement = try statements.longFields
        let (first, last) = ResponseKeys.bounds(ofMD5: md5)
        statement.bind(first)
        statement.bind(last)
        statement.bind(limit)
        return try statement.hasRow()
    }

    /// The responses with that MD5, except the response of `key`. The response that was stored or confirmed longest ago
    /// comes first.
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

    /// The number of responses with that MD5.
    fileprivate func variantCount(ofMD5 md5: String) throws -> Int {
        let (first, last) = ResponseKeys.bounds(ofMD5: md5)
        return try db.cachedStatement(sql: Self.variantCountStatement).first([first, last]) { $0[0] } ?? 0
    }

    /// The unpinned responses with that MD5 that were stored or confirmed longest ago, at most `limit`.
    fileprivate func oldestVariants(ofMD5 md5: String, limit: Int) throws -> [EntryRow] {
        try rows(Self.oldestVariants(ofMD5: md5, limit: limit), limit: limit)
    }

    static let variantCountStatement = "SELECT COUNT(*) FROM entries WHERE \(ResponseKeys.condition())"

    /// See ``oldestVariants(ofMD5:limit:)``.
    static func oldestVariants(ofMD5 md5: String, limit: Int) -> EntryQuery {
        var query = EntryQuery(.all, now: Timestamp(milliseconds: 0))
        let (first, last) = ResponseKeys.bounds(ofMD5: md5)
        // Selects by id first, so that SQLite sorts no whole rows.
        query.restrict(
            """
            entries.id IN (SELECT id FROM entries WHERE \(ResponseKeys.condition()) AND +pinned = 0 \
            ORDER BY max(created, coalesce(downloadEnd, 0)), version LIMIT ?)
            """, [first, last, limit])
        return query
    }
}
