import GRDB
import Primitives

/// A filter, and the rest of a `SELECT` over entries, as SQL.
struct EntryQuery {
    private var tables = "entries"
    private var conditions: [String] = []
    private var order = ""

    /// The values of the statement's parameters.
    private(set) var arguments = StatementArguments()

    /// Entries that match `filter` at `now`.
    ///
    /// - Parameter isKindCommon: whether so many entries are of the filter's kind that it is better tried row by row,
    ///   in the order of the listing, than all of them looked up and sorted.
    init(_ filter: EntryFilter, now: Timestamp, isKindCommon: Bool = false) {
        if let tag = filter.tag {
            tables = "tags JOIN entries ON entries.id = tags.id"
            restrict("tags.tag = ?", [tag])
        }
        if let key = filter.key { restrict("key = ?", [key]) }
        if let md5 = filter.md5 {
            // A slash is the character after the dot.
            restrict("(key = ? OR (key > ? AND key < ?))", [md5, md5 + ".", md5 + "/"])
        }
        if let url = filter.url { restrict("url = ? AND url <> ''", [url]) }
        if let host = filter.host { restrict("host = ?", [host]) }
        if let kind = filter.kind { restrict(isKindCommon ? "+kind = ?" : "kind = ?", [kind.code]) }
        if let prefix = filter.prefix, !prefix.isEmpty { restrict(toPrefix: prefix) }
        switch filter.state {
        case .fresh: restrict("expiry > ?", [now.milliseconds])
        case .stale: restrict("expiry <= ?", [now.milliseconds])
        case nil: break
        }
    }

    /// Adds a condition.
    mutating func restrict(_ condition: String, _ values: StatementArguments) {
        conditions.append(condition)
        arguments += values
    }

    /// Says in which order the rows come.
    mutating func sort(by columns: String) {
        order = " ORDER BY " + columns
    }

    /// The statement that selects `columns`.
    func sql(_ columns: String) -> String {
        let condition = conditions.isEmpty ? "" : " WHERE " + conditions.joined(separator: " AND ")
        return "SELECT \(columns) FROM \(tables)\(condition)\(order)"
    }

    /// Restricts to URLs, and callers' keys, that begin with `prefix`: by comparing, which an index can answer and in
    /// which no character has a meaning of its own.
    private mutating func restrict(toPrefix prefix: String) {
        // The plus keeps SQLite from looking up the kind, which many may be of.
        let isData = "+kind = \(Entry.Kind.data.code)"
        if let end = Self.successor(ofPrefix: prefix) {
            restrict(
                "((url >= ? AND url < ?) OR (\(isData) AND key >= ? AND key < ?))", [prefix, end, prefix, end])
        } else {
            restrict("(url >= ? OR (\(isData) AND key >= ?))", [prefix, prefix])
        }
    }

    /// The first text, in the order of UTF-8 bytes, that comes after all that begin with `prefix`; `nil` when none
    /// does.
    static func successor(ofPrefix prefix: String) -> String? {
        var scalars = Array(prefix.unicodeScalars)
        while let last = scalars.popLast() {
            // Code points and their UTF-8 bytes have the same order.
            var next = last.value + 1
            if next == 0xD800 { next = 0xE000 }
            if let scalar = Unicode.Scalar(next) {
                scalars.append(scalar)
                var text = ""
                text.unicodeScalars.append(contentsOf: scalars)
                return text
            }
        }
        return nil
    }
}
