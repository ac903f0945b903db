import GRDB

/// The statements that each store runs, looked up once in a transaction and not once a row: the connection keeps what
/// it has prepared by the whole text, which must be hashed to find it.
final class StoreStatements {
    private let db: Database
    private var heldStatement, insertStatement, variantStatement, fullVariantsStatement: DirectStatement?
    private var longFieldsStatement: DirectStatement?

    init(_ db: Database) {
        self.db = db
    }

    /// Whether there is an entry of a key.
    var held: DirectStatement {
        get throws { try prepared(&heldStatement, "SELECT 1 FROM entries WHERE key = ?") }
    }

    /// Adds a row of ``EntryRow/bind(to:)``.
    var insert: DirectStatement {
        get throws { try prepared(&insertStatement, Self.insertion) }
    }

    /// Whether there is an entry with a key between two.
    var variant: DirectStatement {
        get throws { try prepared(&variantStatement, "SELECT 1 FROM entries WHERE key > ? AND key < ? LIMIT 1") }
    }

    /// Whether there are ``Entry/variantLimit`` responses or more with keys between two.
    var fullVariants: DirectStatement {
        get throws { try prepared(&fullVariantsStatement, Self.fullVariantsQuery) }
    }

    static let fullVariantsQuery =
        "SELECT 1 FROM entries WHERE \(ResponseKeys.condition()) LIMIT 1 OFFSET \(Entry.variantLimit - 1)"

    /// Whether the fields of the responses with keys between two have more bytes than a limit together.
    var longFields: DirectStatement {
        get throws { try prepared(&longFieldsStatement, Self.longFieldsQuery) }
    }

    /// Of a text `length` counts the characters.
    static let longFieldsQuery = """
        SELECT 1 FROM (SELECT sum(length(CAST(fields AS BLOB))) AS bytes FROM entries WHERE \(ResponseKeys.condition())) \
        WHERE bytes > ?
        """

    private func prepared(_ statement: inout DirectStatement?, _ sql: String) throws -> DirectStatement {
        if let statement { return statement }
        let new = DirectStatement(try db.cachedStatement(sql: sql))
        statement = new
        return new
    }

    /// Sets a row of ``EntryRow/bind(to:)``, whether it is there or not.
    static let putStatement: String = {
        let updates = names.dropFirst(2).map { "\($0) = excluded.\($0)" }.joined(separator: ", ")
        return "\(insertion) ON CONFLICT (id) DO UPDATE SET \(updates)"
    }()

    private static let insertion: String = {
        let marks = Array(repeating: "?", count: names.count).joined(separator: ", ")
        return "INSERT INTO entries (\(names.joined(separator: ", "))) VALUES (\(marks))"
    }()

    private static let names =
        EntryRow.columns.split(separator: ",")
        .map { $0.drop { $0 == " " } }.map { $0 == "entries.id" ? "id" : $0 } + ["sweepable", "canonicalURL"]
}
