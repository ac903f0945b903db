import GRDB
import Primitives

/// How SQLite is to find the rows of a query.
enum EntryPath: Equatable {
    /// As it sees fit.
    case any
    /// By the index of that name, which has the order of the listing: each row is tried.
    case inOrder(index: String)
    /// By the index for one condition of the filter: what it finds is tried, and sorted.
    case by(EntryFilter.Condition)
}

/// Where the prefix of a filter is looked for.
struct PrefixPlaces: OptionSet {
    let rawValue: Int

    /// URLs as they are kept.
    static let urls = Self(rawValue: 1)
    /// Callers' own keys.
    static let keys = Self(rawValue: 2)
    /// Canonical URLs of responses that were sent in another spelling.
    static let otherSpellings = Self(rawValue: 4)
    /// All of them.
    static let all: Self = [.urls, .keys, .otherSpellings]
}

/// A filter, and the rest of a `SELECT` over entries, as SQL.
struct EntryQuery {
    private let path: EntryPath
    private var tables = "entries"
    private var conditions: [String] = []
    private var order = ""

    /// The values of the statement's parameters.
    private(set) var arguments = StatementArguments()

    /// Entries that match `filter` at `now`.
    ///
    /// - Parameters:
    ///   - path: how SQLite is to find them.
    ///   - places: where the filter's prefix is looked for; at least one.
    init(_ filter: EntryFilter, now: Timestamp, path: EntryPath = .any, prefixIn places: PrefixPlaces = .all) {
        self.path = path
        if case .inOrder(let index) = path { tables = "entries INDEXED BY \(index)" }
        if let tag = filter.tag { restrict(toTag: tag) }
        if let key = filter.key { restrict("\(column("key", .key)) = ?", [key]) }
        if let md5 = filter.md5 {
            let key = column("key", .md5)
            let (first, last) = ResponseKeys.bounds(ofMD5: md5)
            restrict("(\(key) = ? OR (\(ResponseKeys.condition(on: key))))", [md5, first, last])
        }
        if let url = filter.url {
            let (column, canonical) = (column("url", .url), column("canonicalURL", .url))
            restrict("((\(column) = ? AND \(column) <> '') OR \(canonical) = ?)", [url, url])
        }
        if let hosts = filter.hosts { restrict("\(column("host", .host)) IN (?, ?)", StatementArguments(hosts)) }
        if let kind = filter.kind { restrict("\(column("kind", .kind)) = ?", [kind.code]) }
        if let prefix = filter.prefix, !prefix.isEmpty { restrict(toPrefix: prefix, in: places) }
        let expiry = column("expiry", .state)
        switch filter.state {
        case .fresh: restrict("\(expiry) > ?", [now.milliseconds])
        case .stale: restrict("\(expiry) <= ?", [now.milliseconds])
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

    /// A column as it is written in a condition or an order: a plus keeps SQLite from using an index of it, where
    /// another one is to be used.
    private func column(_ name: String, _ condition: EntryFilter.Condition?) -> String {
        guard case .by(let leading) = path, leading != condition else { return name }
        return "+" + name
    }

    /// A column of the order.
    func orderColumn(_ name: String) -> String { column(name, nil) }

    private mutating func restrict(toTag tag: String) {
        switch path {
        case .any:
            tables = "tags JOIN entries ON entries.id = tags.id"
            restrict("tags.tag = ?", [tag])
        case .by(.tag):
            // The left side of a cross join is gone through first.
            tables = "tags CROSS JOIN entries ON entries.id = tags.id"
            restrict("tags.tag = ?", [tag])
        case .by, .inOrder:
            restrict("EXISTS (SELECT 1 FROM tags WHERE tags.tag = ? AND tags.id = entries.id)", [tag])
        }
    }

    /// Restricts to URLs, and callers' keys, that begin with `prefix`: by comparing, which an index can answer and in
    /// which no character has a meaning of its own.
    private mutating func restrict(toPrefix prefix: String, in places: PrefixPlaces) {
        var alternatives: [String] = []
        var arguments = StatementArguments()
        func add(_ name: String, _ condition: String = "") {
            let (range, values) = Self.range(column(name, .prefix), ofPrefix: prefix)
            alternatives.append("(\(condition)\(range))")
            arguments += values
        }
        if places.contains(.urls) { add("url") }
        // The plus keeps SQLite from looking up the kind, which many may be of.
        if places.contains(.keys) { add("key", "+kind = \(Entry.Kind.data.code) AND ") }
        if places.contains(.otherSpellings) { add("canonicalURL") }
        restrict("(\(alternatives.joined(separator: " OR ")))", arguments)
    }

    /// Restricts a column to texts that begin with `prefix`.
    mutating func restrict(column: String, toPrefix prefix: String) {
        let (condition, values) = Self.range(column, ofPrefix: prefix)
        restrict(condition, values)
    }

    private static func range(_ column: String, ofPrefix prefix: String) -> (String, StatementArguments) {
        guard let end = successor(ofPrefix: prefix) else { return ("\(column) >= ?", [prefix]) }
        return ("\(column) >= ? AND \(column) < ?", [prefix, end])
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
