import Primitives

extension WriteContext {
    /// Returns whether no marked slide is left.
    func flushMarkedSlides(limit: Int) throws -> Bool {
        try flushHits(limit: .marked(limit))
        return !parts.hits.hasMarkedSlides
    }

    /// Writes the slide of an entry to the index, if the entry is fresh only by that slide. Returns whether it did.
    func flushSlide(of entry: Entry) throws -> Bool {
        let slid = entry.applying(parts.hits.pending(entry.key))
        guard !entry.isFresh(at: now), slid.isFresh(at: now) else { return false }
        try flushHits(only: entry.key)
        return true
    }

    /// Writes up to `limit` pending hits, last accesses and slides to the index, or only the changes of `key`.
    package func flushHits(limit: HitLog.FlushLimit = .all, only key: String? = nil) throws {
        var flush = parts.hits.beginFlush(limit: limit, only: key)
        if flush.items.isEmpty { return }
        // Rows are stored in the order of their first publish. So the sort brings entries of the same page together,
        // and the file is read and written in a single direction.
        flush.items.sort { $0.pending.version < $1.pending.version }
        journal.onUndo { [log = parts.hits, flush] in log.cancelFlush(flush) }
        var counts: [ExactText: Int64] = [:]
        for (key, pending) in flush.items {
            if let count = try index.apply(pending, toKey: key) { counts[ExactText(key)] = count }
        }
        parts.hits.wrote(flush, hits: counts)
        // The memory tier is updated first: until the log drops the flush, readers get the pending hits from the log.
        journal.onCommit { [memory = parts.memory, slotTable = parts.slotTable, log = parts.hits, flush] in
            for (key, pending) in flush.items {
                // A reader that read the row before the commit does not know the slide once the log has dropped it.
                if pending.slide != nil { slotTable.remove(ExactText(key).hashValue) }
                guard let count = counts[ExactText(key)] else { continue }
                memory.update(key) { $0.entry = $0.entry.applying(pending.written(hits: count)) }
            }
            log.endFlush(flush)
        }
    }
}
