import GRDB
import Primitives

/// Finds the rows of one page of a listing, without looking at every entry where an index can serve.
///
/// There are two ways:
/// - To walk: follow the index that has the order of the listing, and try each row. A page is found soon when much of
///   what there is matches, and at once when it is that index that the filter asks for, too.
/// - To sort: look up what one condition of the filter matches, and sort it. That is little when little matches.
///
/// Of n entries, m of which match, a page of l rows takes about l * n / m rows to walk and m to sort: so from m = √(ln)
/// on it walks, and neither takes more than about √(ln) rows. A walk that has tried some times as many found entries
/// that are not mixed well, and gives up; then what matches is sorted all the same.
///
/// Orders without an index always sort.
struct PageSearch {
    let filter: EntryFilter
    let sort: EntrySort
    let position: ListCursor?
    let now: Timestamp
    let totals: CacheTotals
    let reader: IndexReader

    /// A walk is given up after so many times the rows that it should take.
    private static let patience = 4

    /// How a page is found.
    enum Way: Equatable {
        /// In the order of an index; given up after the row at `end`, if there is one.
        case walk(end: ListCursor?)
        /// By one condition's index; `nil`: as SQLite sees fit.
        case sort(EntryFilter.Condition?)
    }

    /// The first rows after ``position`` that match, at most `limit`.
    func rows(limit: Int) throws(DiskCacheError) -> [EntryRow] {
        let places = try prefixPlaces()
        switch try way(limit: limit, prefixIn: places) {
        case .sort(let condition): return try reader.rows(sorting(condition, places), limit: limit)
        case .walk(let end):
            let rows = try reader.rows(walking(to: end, prefixIn: places), limit: limit)
            if rows.count == limit || end == nil { return rows }
            return try reader.rows(sorting(others(places).first, places), limit: limit)
        }
    }

    /// How the first `limit` rows are best found.
    func way(limit: Int, prefixIn places: PrefixPlaces) throws(DiskCacheError) -> Way {
        let others = others(places)
        guard sort.order.index != nil else { return .sort(filter.conditions.first) }
        guard !others.isEmpty else { return .walk(end: nil) }
        let rowsWorthSorting = Int((Double(limit) * Double(max(totals.entries, 1))).squareRoot())
        for condition in others where try count(condition, places, upTo: rowsWorthSorting) < rowsWorthSorting {
            return .sort(condition)
        }
        return .walk(end: try walkEnd(after: rowsWorthSorting * Self.patience, places))
    }

    /// The conditions that the index of the order knows nothing of.
    private func others(_ places: PrefixPlaces) -> [EntryFilter.Condition] {
        filter.conditions.filter { !isServed($0, prefixIn: places) }
    }

    // MARK: - Statements

    /// Rows in the order of its index, up to `end`.
    func walking(to end: ListCursor? = nil, prefixIn places: PrefixPlaces = .all) -> EntryQuery {
        var query = EntryQuery(filter, now: now, path: walkPath, prefixIn: places)
        begin(&query)
        if let end { restrict(&query, to: sort.descending ? ">=" : "<=", end) }
        return query
    }

    /// Rows that a condition leads to, sorted.
    func sorting(_ condition: EntryFilter.Condition?, _ places: PrefixPlaces = .all) -> EntryQuery {
        var query = EntryQuery(filter, now: now, path: condition.map { .by($0) } ?? .any, prefixIn: places)
        begin(&query)
        return query
    }

    private var walkPath: EntryPath { sort.order.index.map { .inOrder(index: $0) } ?? .any }

    private func begin(_ query: inout EntryQuery) {
        if let position { restrict(&query, to: sort.descending ? "<" : ">", position) }
        let direction = sort.descending ? " DESC" : ""
        let column = query.orderColumn(sort.order.column)
        query.sort(
            by: sort.order == .key ? "\(column)\(direction)" : "\(column)\(direction), entries.id\(direction)")
    }

    private func restrict(_ query: inout EntryQuery, to comparison: String, _ cursor: ListCursor) {
        let column = query.orderColumn(sort.order.column)
        if sort.order == .key {
            query.restrict("\(column) \(comparison) ?", [cursor.value])
        } else {
            query.restrict("(\(column), entries.id) \(comparison) (?, ?)", [cursor.value, cursor.id])
        }
    }

    // MARK: - Choosing

    /// Whether the index of the order finds what the condition means, in one piece.
    private func isServed(_ condition: EntryFilter.Condition, prefixIn places: PrefixPlaces) -> Bool {
        switch (sort.order, condition) {
        case (.key, .key), (.expiryDate, .state): true
        case (.key, .prefix): places == .keys
        case (.url, .prefix): places == .urls
        default: false
        }
    }

    /// How many entries the condition alone is true for, at most `limit`.
    private func count(
        _ condition: EntryFilter.Condition, _ places: PrefixPlaces, upTo limit: Int
    ) throws(DiskCacheError) -> Int {
        switch condition {
        case .key, .md5, .url: 0
        case .kind: filter.kind.map { Int(totals.entriesByKind[$0] ?? 0) } ?? 0
        case .tag: try reader.count(tag: filter.tag ?? "", upTo: limit)
        case .host, .state: try reader.count(alone(condition), upTo: limit)
        case .prefix:
            (places.contains(.urls) ? try reader.count(alone(.prefix, .urls), upTo: limit) : 0)
                + (places.contains(.otherSpellings)
                    ? try reader.count(alone(.prefix, .otherSpellings), upTo: limit) : 0)
                + (places.contains(.keys) ? try reader.count(keysWithPrefix, upTo: limit) : 0)
        }
    }

    /// Where the filter's prefix is to be found now. What is stored after that is none of this page.
    func prefixPlaces() throws(DiskCacheError) -> PrefixPlaces {
        guard filter.prefix?.isEmpty == false else { return .all }
        var places: PrefixPlaces = []
        for place in [PrefixPlaces.urls, .otherSpellings] where try reader.count(alone(.prefix, place), upTo: 1) > 0 {
            places.insert(place)
        }
        if places.isEmpty { return .keys }
        if try reader.count(keysWithPrefix, upTo: 1) > 0 { places.insert(.keys) }
        return places
    }

    /// Keys that begin with the filter's prefix, of whatever kind: looking that up would take longer than it is worth.
    private var keysWithPrefix: EntryQuery {
        var query = EntryQuery(.all, now: now)
        query.restrict(column: "key", toPrefix: filter.prefix ?? "")
        return query
    }

    private func alone(_ condition: EntryFilter.Condition, _ places: PrefixPlaces = .all) -> EntryQuery {
        EntryQuery(filter.keeping([condition]), now: now, prefixIn: places)
    }

    /// The row after so many that a walk would try; `nil` when there are not so many.
    private func walkEnd(after count: Int, _ places: PrefixPlaces) throws(DiskCacheError) -> ListCursor? {
        let served = filter.conditions.filter { isServed($0, prefixIn: places) }
        var query = EntryQuery(filter.keeping(Set(served)), now: now, path: walkPath, prefixIn: places)
        begin(&query)
        return try reader.cursor(query, column: sort.order.column, after: count)
    }
}

extension EntrySort.Order {
    /// The column of the index.
    var column: String {
        switch self {
        case .key: "key"
        case .url: "url"
        case .contentLength: "contentLength"
        case .expiryDate: "expiry"
        case .lastAccessDate: "lastAccess"
        case .hits: "hits"
        }
    }

    /// The index that has this order; `nil` when none has.
    var index: String? {
        switch self {
        case .key: "sqlite_autoindex_entries_1"
        case .url: "entriesByURL"
        case .expiryDate: "entriesByExpiry"
        case .lastAccessDate: "entriesByAccess"
        case .contentLength, .hits: nil
        }
    }
}
