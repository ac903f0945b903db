import Primitives

extension DiskCache {
    /// Lists a page; it may have fewer than `limit` entries although others follow. In the order of ``EntrySort/key``,
    /// each entry that stays during the listing appears once, because a page continues after the last key. `cursor` is
    /// ``EntryPage/nextCursor`` for the same filter and order; any other text throws ``DiskCacheError/invalidCursor``.
    package func list(
        _ filter: EntryFilter = .all, sort: EntrySort = .key, limit: Int = 100, cursor: String? = nil
    ) throws(DiskCacheError) -> EntryPage {
        let now = parts.clock.now()
        let limit = max(limit, 1)
        var position: ListCursor?
        if let cursor {
            position = ListCursor(cursor, filter: filter, sort: sort)
            if position == nil { throw .invalidCursor }
        }
        let search = PageSearch(
            filter: filter, sort: sort, position: position, now: now, totals: totals, reader: parts.reader)
        var rows: [EntryRow] = []
        let settled = try parts.hits.ifSettled { () throws(DiskCacheError) in
            rows = try search.rows(limit: limit + 1)
            return rows.prefix(limit).map { row in
                Processor.offer()
                return current(row.entry)
            }
        }
        var entries = settled ?? []
        if settled == nil {
            // A flush ended during this long read, so hits may be missing. Therefore reads each entry again by itself.
            for row in rows.prefix(limit) {
                Processor.offer()
                if let entry = try entry(for: row.entry.key) { entries.append(entry) }
            }
        }
        let isLast = rows.count <= limit
        let nextCursor = isLast ? nil : ListCursor(at: rows[limit - 1], sort: sort).text(filter: filter, sort: sort)
        // A renewed expiry date that the index does not have yet may have made a stale entry fresh.
        let matching = filter.state.map { state in entries.filter { $0.isFresh(at: now) == (state == .fresh) } }
        return EntryPage(entries: matching ?? entries, nextCursor: nextCursor)
    }
}
