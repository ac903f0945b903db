import Primitives

/// Finds the rows of a page of a listing, without testing every entry where an index helps. A *walk* follows the index
/// in the order of the listing and tests each row: good when many entries match, or the same index answers the filter.
/// A *sort* sorts all entries that match one condition: good when few match, and the only way for orders without an
/// index.
///
/// If m of n entries match, a page of l rows takes a walk about l * n / m rows, and a sort m rows. So the search walks
/// if m is at least √(ln). Neither takes more than about √(ln) rows, if matches are mixed evenly with other entries. A
/// walk that has tested ``patience`` times as many rows stops, and a sort replaces it.
struct PageSearch {
    let filter: EntryFilter
    let sort: EntrySort
    let position: ListCursor?
    let now: Timestamp
    let totals: CacheTotals
    let reader: IndexReader
    private static let patience = 4

    enum Way: Equatable {
        /// Stops after the row at `end`, and a sort replaces the walk; `nil`: never stops early.
        case walk(end: ListCursor?)
        /// Uses the index for one condition; `nil`: SQLite chooses.
        case sort(EntryFilter.Condition?)
    }

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

    private func others(_ places: PrefixPlaces) -> [EntryFilter.Condition] {
        filter.conditions.filter { !isServed($0, prefixIn: places) }
    }

    func walking(to end: ListCursor? = nil, prefixIn places: PrefixPlaces = .all) -> EntryQuery {
        var query = query(filter, walkPath, places)
        if let end { restrict(&query, to: sort.descending ? ">=" : "<=", end) }
        return query
    }

    func sorting(_ condition: EntryFilter.Condition?, _ places: PrefixPlaces = .all) -> EntryQuery {
        query(filter, condition.map { .by($0) } ?? .any, places)
    }

    private var walkPath: EntryPath { sort.order.index.map { .inOrder(index: $0) } ?? .any }

    private func query(_ filter: EntryFilter, _ path: EntryPath, _ places: PrefixPlaces) -> EntryQuery {
        var query = EntryQuery(filter, now: now, path: path, prefixIn: places)
        if let position { restrict(&query, to: sort.descending ? "<" : ">", position) }
        let direction = sort.descending ? " DESC" : ""
        let column = query.column(sort.order.column)
        query.sort(by: sort.order == .key ? "\(column)\(direction)" : "\(column)\(direction), entries.id\(direction)")
        return query
    }

    private func restrict(_ query: inout EntryQuery, to comparison: String, _ cursor: ListCursor) {
        let column = query.column(sort.order.column)
        if sort.order == .key {
            query.restrict("\(column) \(comparison) ?", [cursor.value])
        } else {
            query.restrict("(\(column), entries.id) \(comparison) (?, ?)", [cursor.value, cursor.id])
        }
    }

    /// Whether the matches of the condition are a contiguous range of the index that the walk follows.
    private func isServed(_ condition: EntryFilter.Condition, prefixIn places: PrefixPlaces) -> Bool {
        switch (sort.order, condition) {
        case (.key, .key), (.expiryDate, .state): true
        case (.key, .prefix): places == .keys
        case (.url, .prefix): places == .urls && filter.urlBeginnings.count == 1
        default: false
        }
    }

    /// Estimates the matches of the condition; a query counts up to `limit`. `key`, `md5`, `url`: 0, as few match.
    private func count(
        _ condition: EntryFilter.Condition, _ places: PrefixPlaces, upTo limit: Int
    ) throws(DiskCacheError) -> Int {
        switch condition {
        case .key, .md5, .url: 0
        case .kind: filter.kind.map { Int(totals.entriesByKind[$0] ?? 0) } ?? 0
        case .tag: try reader.count(tag: filter.tag ?? "", upTo: limit)
        case .host, .state: try reader.count(alone(condition), upTo: limit)
        case .prefix:
            try countPrefix(in: .urls, of: places, upTo: limit)
                + countPrefix(in: .otherSpellings, of: places, upTo: limit)
                + countPrefix(in: .keys, of: places, upTo: limit)
        }
    }

    private func countPrefix(
        in place: PrefixPlaces, of places: PrefixPlaces = .all, upTo limit: Int
    ) throws(DiskCacheError) -> Int {
        guard places.contains(place) else { return 0 }
        return try reader.count(place == .keys ? keysWithPrefix : alone(.prefix, place), upTo: limit)
    }

    /// The columns in which an entry has the filter's prefix. The page may lack an entry that is stored afterwards.
    func prefixPlaces() throws(DiskCacheError) -> PrefixPlaces {
        guard filter.prefix?.isEmpty == false else { return .all }
        var places: PrefixPlaces = []
        for place in [PrefixPlaces.urls, .otherSpellings, .keys] where try countPrefix(in: place, upTo: 1) > 0 {
            places.insert(place)
        }
        return places.isEmpty ? .keys : places
    }

    /// Entries of any kind with the filter's prefix in the key. Looking up the kind would take too long.
    private var keysWithPrefix: EntryQuery {
        var query = EntryQuery.unfiltered
        let (condition, values) = EntryQuery.range("key", ofPrefix: filter.prefix ?? "")
        query.restrict(condition, values)
        return query
    }

    private func alone(_ condition: EntryFilter.Condition, _ places: PrefixPlaces = .all) -> EntryQuery {
        EntryQuery(filter.keeping([condition]), now: now, prefixIn: places)
    }

    private func walkEnd(after count: Int, _ places: PrefixPlaces) throws(DiskCacheError) -> ListCursor? {
        let served = filter.conditions.filter { isServed($0, prefixIn: places) }
        let query = query(filter.keeping(Set(served)), walkPath, places)
        return try reader.cursor(query, column: sort.order.column, after: count)
    }
}

extension EntrySort.Order {
    var column: String {
        switch self {
        case .key, .url, .contentLength, .hits: rawValue
        case .expiryDate: "expiry"
        case .lastAccessDate: "lastAccess"
        }
    }

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
