import Primitives

extension DiskCache {
    /// Lists a page of the entries that match a filter. It may have fewer than `limit` entries and not be the last. It
    /// continues after the last value of the page before, not at a position. So in the order of ``EntrySort/key``, each
    /// entry that exists all the time appears exactly once, even while other entries are added and removed. `cursor` is
    /// ``EntryPage/nextCursor`` of the page before, for the same filter and order; others throw
    /// ``DiskCacheError/invalidCursor``.
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
            // A listing may take longer than the time between two flushes. So each entry is read again by itself.
            for row in rows.prefix(limit) {
                Processor.offer()
                if let entry = try entry(for: row.entry.key) { entries.append(entry) }
            }
        }
        var nextCursor: String?
        if rows.count > limit {
            nextCursor = ListCursor(at: rows[limit - 1], sort: sort).text(filter: filter, sort: sort)
        }
        // A slide that is still pending may have made a stale entry fresh.
        let matching = filter.state.map { state in entries.filter { $0.isFresh(at: now) == (state == .fresh) } }
        return EntryPage(entries: matching ?? entries, nextCursor: nextCursor)
    }
}
