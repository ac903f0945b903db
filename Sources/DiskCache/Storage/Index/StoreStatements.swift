import GRDB

/// The statements that each store runs. Each is looked up once in a transaction and not once for each row, because the
/// connection finds a cached statement by its whole text, which it has to hash.
final class StoreStatements {
    private let db: Database
    private var heldStatement, insertStatement, variantStatement, fullVariantsStatement: DirectStatement?
    private var longFieldsStatement: DirectStatement?

    init(_ db: Database) {
        self.db = db
    }

    var held: DirectStatement {
        get throws { try prepared(&heldStatement, "SELECT 1 FROM entries WHERE key = ?") }
    }

    var insert: DirectStatement {
        get throws { try prepared(&insertStatement, Self.insertion) }
    }

    var variant: DirectStatement {
        get throws { try prepared(&variantStatement, "SELECT 1 FROM entries WHERE key > ? AND key < ? LIMIT 1") }
    }

    var fullVariants: DirectStatement {
        get throws { try prepared(&fullVariantsStatement, Self.fullVariantsQuery) }
    }

    static let fullVariantsQuery =
        "SELECT 1 FROM entries WHERE \(ResponseKeys.condition()) LIMIT 1 OFFSET \(Entry.variantLimit - 1)"

    var longFields: DirectStatement {
        get throws { try prepared(&longFieldsStatement, Self.longFieldsQuery) }
    }

    /// The cast makes `length` count bytes, because for a text it counts characters.
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

    /// Writes a row of ``EntryRow/bind(to:)``, or replaces the row with the same number.
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
        .map { $0.drop { $0 == " " } }.map { $0 == "entries.id" ? "id" : $0 } + [
            "sweepable", "canonicalURL", "canonicalKey",
        ]
}
