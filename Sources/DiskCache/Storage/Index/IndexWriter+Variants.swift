import GRDB
import Primitives

extension IndexWriter {
    /// Whether there may be a response with that MD5. A caller's own key with the same beginning counts, too.
    func hasVariants(ofMD5 md5: String) throws -> Bool {
        var statement = try statements.variant
        let (first, last) = ResponseKeys.bounds(ofMD5: md5)
        statement.bind(first)
        statement.bind(last)
        return try statement.hasRow()
    }

    /// Whether the URL has the most responses that it may have. The query nearly always looks at a single place.
    func hasFullVariants(ofMD5 md5: String) throws -> Bool {
        var statement = try statements.fullVariants
        let (first, last) = ResponseKeys.bounds(ofMD5: md5)
        statement.bind(first)
        statement.bind(last)
        return try statement.hasRow()
    }

    func hasFields(ofMD5 md5: String, longerThan limit: Int) throws -> Bool {
        var statement = try statements.longFields
        let (first, last) = ResponseKeys.bounds(ofMD5: md5)
        statement.bind(first)
        statement.bind(last)
        statement.bind(limit)
        return try statement.hasRow()
    }

    /// Except the response of `key`. The response that was stored or confirmed longest ago comes first.
    func variantFields(
        ofMD5 md5: String, but key: String
    ) throws -> [(id: Int64, isPinned: Bool, length: Int)] {
        let (first, last) = ResponseKeys.bounds(ofMD5: md5)
        return try db.cachedStatement(sql: Self.variantFieldsStatement).all([first, last, key]) { row in
            (id: row[0] as Int64, isPinned: row[1] as Bool, length: row[2] as Int)
        }
    }

    static let variantFieldsStatement = """
        SELECT id, pinned, length(CAST(fields AS BLOB)) FROM entries WHERE \(ResponseKeys.condition()) AND key <> ? \
        ORDER BY max(created, coalesce(downloadEnd, 0)), version
        """

    func variantCount(ofMD5 md5: String) throws -> Int {
        let (first, last) = ResponseKeys.bounds(ofMD5: md5)
        return try db.cachedStatement(sql: Self.variantCountStatement).first([first, last]) { $0[0] } ?? 0
    }

    /// The unpinned responses that were stored or confirmed longest ago.
    func oldestVariants(ofMD5 md5: String, limit: Int) throws -> [EntryRow] {
        try rows(Self.oldestVariants(ofMD5: md5, limit: limit), limit: limit)
    }

    static let variantCountStatement = "SELECT COUNT(*) FROM entries WHERE \(ResponseKeys.condition())"

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
