import GRDB
import Primitives

enum EntryPath: Equatable {
    case any
    /// Follows the index with that name, which has the order of the listing, and tests each row.
    case inOrder(index: String)
    /// Uses the index for a condition of the filter, then tests and sorts the rows that it finds.
    case by(EntryFilter.Condition)
}

struct PrefixPlaces: OptionSet {
    let rawValue: Int
    static let urls = Self(rawValue: 1)
    static let keys = Self(rawValue: 2)
    /// The canonical URLs of the entries with a stored URL in another spelling.
    static let otherSpellings = Self(rawValue: 4)
    static let all: Self = [.urls, .keys, .otherSpellings]
}

struct EntryQuery {
    private let path: EntryPath
    private var tables = "entries"
    private var conditions: [String] = []
    private var order = ""
    private(set) var arguments = StatementArguments()

    init(_ filter: EntryFilter, now: Timestamp, path: EntryPath = .any, prefixIn places: PrefixPlaces = .all) {
        self.path = path
        // The other conditions match no resource, because a resource has no URL, host or tag.
        if filter.conditions.allSatisfy({ $0 == .state }), filter.state != .stale {
            restrict("\(column("expiry", .state)) < \(EntryRow.resourceExpiry.milliseconds)", [])
        }
        if case .inOrder(let index) = path { tables = "entries INDEXED BY \(index)" }
        if let tag = filter.tag { restrict(toTag: tag) }
        if let key = filter.key { restrict("\(column("key", .key)) = ?", [key]) }
        if let md5 = filter.md5 {
            let (key, canonical) = (column("key", .md5), column("canonicalKey", .md5))
            let (first, last) = ResponseKeys.bounds(ofMD5: md5)
            restrict(
                "(\(key) = ? OR (\(ResponseKeys.condition(on: key))) OR \(canonical) = ?)", [md5, first, last, md5])
        }
        if let url = filter.url {
            let (column, canonical) = (column("url", .url), column("canonicalURL", .url))
            restrict("((\(column) = ? AND \(column) <> '') OR \(canonical) = ?)", [url, url])
        }
        if let host = filter.host { restrict("\(column("host", .host)) = ?", [host]) }
        if let kind = filter.kind { restrict("\(column("kind", .kind)) = ?", [kind.code]) }
        if let prefix = filter.prefix, !prefix.isEmpty {
            restrict(toPrefix: prefix, ofURLs: filter.urlBeginnings, in: places)
        }
        if let state = filter.state {
            restrict("\(column("expiry", .state)) \(state == .fresh ? ">" : "<=") ?", [now.milliseconds])
        }
    }

    /// Finds the entries that a purge by `filter` removes: held entries only if the filter names a key or URL, or with
    /// `removesHeld`.
    static func purge(_ filter: EntryFilter, now: Timestamp, removesHeld: Bool = false) -> EntryQuery {
        var query = EntryQuery(filter, now: now)
        if !removesHeld, !filter.namesResource { query.restrict("+pinned < \(EntryRow.heldUnit)", []) }
        return query
    }

    /// Finds all rows, those of resources, too.
    static var unfiltered: EntryQuery { EntryQuery(path: .any) }

    /// Finds resources, too.
    static func rows(after id: Int64) -> EntryQuery {
        var query = unfiltered
        query.restrict("entries.id > ?", [id])
        query.sort(by: "entries.id")
        return query
    }

    private init(path: EntryPath) { self.path = path }

    mutating func restrict(_ condition: String, _ values: StatementArguments) {
        conditions.append(condition)
        arguments += values
    }

    mutating func sort(by columns: String) { order = " ORDER BY " + columns }

    func sql(_ columns: String) -> String {
        let condition = conditions.isEmpty ? "" : " WHERE " + conditions.joined(separator: " AND ")
        return "SELECT \(columns) FROM \(tables)\(condition)\(order)"
    }

    /// Puts a plus before a column when the query uses another index. SQLite then ignores the index of the column.
    func column(_ name: String, _ condition: EntryFilter.Condition? = nil) -> String {
        guard case .by(let leading) = path, leading != condition else { return name }
        return "+" + name
    }

    private mutating func restrict(toTag tag: String) {
        guard path == .any || path == .by(.tag) else {
            return restrict("EXISTS (SELECT 1 FROM tags WHERE tags.tag = ? AND tags.id = entries.id)", [tag])
        }
        // SQLite scans the left side of a cross join first.
        tables = "tags \(path == .any ? "JOIN" : "CROSS JOIN") entries ON entries.id = tags.id"
        restrict("tags.tag = ?", [tag])
    }

    /// Restricts to keys of callers that begin with `prefix`, and URLs that begin with one of `beginnings`. The
    /// conditions are comparisons, because an index can answer them and no character has a special meaning in them.
    private mutating func restrict(toPrefix prefix: String, ofURLs beginnings: [String], in places: PrefixPlaces) {
        var alternatives: [String] = []
        var arguments = StatementArguments()
        func add(_ name: String, _ prefixes: [String], _ condition: String = "") {
            for prefix in prefixes {
                let (range, values) = Self.range(column(name, .prefix), ofPrefix: prefix)
                alternatives.append("(\(condition)\(range))")
                arguments += values
            }
        }
        if places.contains(.urls) { add("url", beginnings) }
        // The plus keeps SQLite from using the index of kinds, because a kind may have many entries.
        if places.contains(.keys) { add("key", [prefix], "+kind = \(Entry.Kind.data.code) AND ") }
        if places.contains(.otherSpellings) { add("canonicalURL", beginnings) }
        restrict("(\(alternatives.joined(separator: " OR ")))", arguments)
    }

    static func range(_ column: String, ofPrefix prefix: String) -> (String, StatementArguments) {
        guard let end = successor(ofPrefix: prefix) else { return ("\(column) >= ?", [prefix]) }
        return ("\(column) >= ? AND \(column) < ?", [prefix, end])
    }

    /// The first text, in the order of UTF-8 bytes, after every text with `prefix`; `nil` when there is none.
    static func successor(ofPrefix prefix: String) -> String? {
        var scalars = Array(prefix.unicodeScalars)
        while let last = scalars.popLast() {
            // Code points and their UTF-8 bytes have the same order.
            var next = last.value + 1
            if next == 0xD800 { next = 0xE000 }
            if let scalar = Unicode.Scalar(next) {
                return String(String.UnicodeScalarView(scalars + [scalar]))
            }
        }
        return nil
    }
}
