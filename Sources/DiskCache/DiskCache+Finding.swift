import Primitives

/// Look-ups that never block the caller. Each calls `then`, which must not block, exactly once: immediately on the
/// caller's thread when memory alone can answer, otherwise later on a thread that may wait for the disk (`mayWait`).
extension DiskCache {
    /// Finds an entry with its body, fresh or stale. A body that fails a quick check is first read and verified. An
    /// entry with a damaged body counts as absent. For `url` see ``load(_:expectingURL:mayWait:)``.
    package func find(
        _ key: String, expectingURL url: String? = nil, mayWait: Bool = false, then: @escaping Completion<StoredEntry?>
    ) {
        do {
            switch try load(key, expectingURL: url, mayWait: mayWait) {
            case .hit(let stored): then(.success(stored))
            case .absent: then(.success(nil))
            case .onDisk: onDiskThread { [self] in find(key, expectingURL: url, mayWait: true, then: then) }
            case .needsVerification:
                verify(key) { result in then(result.map { $0.flatMap { $0.entry.isOf(url) ? $0 : nil } }) }
            }
        } catch {
            then(.failure(error))
        }
    }

    /// Finds an entry, fresh or stale. The body is not checked.
    package func findEntry(_ key: String, then: @escaping Completion<Entry?>) {
        resolve(then) { [self] (mayWait) throws(DiskCacheError) in try lookUp(key, mayWait: mayWait) }
    }

    package func findResponses(to url: ResponseURL, then: @escaping Completion<[Entry]>) {
        resolve(then) { [self] (mayWait) throws(DiskCacheError) in
            try responses(to: url, mayWait: mayWait).map { .found($0) } ?? .onDisk
        }
    }

    /// `then` gets `nil` when the body cannot be read from its slot alone; see ``passing(_:at:mayWait:)``.
    package func findPassing(
        _ key: String, mayWait: Bool = false, then: @escaping @Sendable (PassingBody?) -> Void
    ) {
        switch passing(key, at: parts.clock.now(), mayWait: mayWait) {
        case .found(let body): then(body)
        case .onDisk: onDiskThread { [self] in findPassing(key, mayWait: true, then: then) }
        }
    }

    /// Calls `find` without waiting for the disk. If the data is on disk, calls it again on a thread that may wait.
    private func resolve<Value: Sendable>(
        mayWait: Bool = false, _ then: @escaping Completion<Value>,
        _ find: @escaping @Sendable (_ mayWait: Bool) throws(DiskCacheError) -> Lookup<Value>
    ) {
        do {
            switch try find(mayWait) {
            case .found(let value): then(.success(value))
            case .onDisk:
                precondition(!mayWait, "a look-up that may wait for the disk must not need another thread")
                onDiskThread { [self] in resolve(mayWait: true, then, find) }
            }
        } catch {
            then(.failure(error))
        }
    }

    /// Reads a small body, fresh at `now`, from its slot with a single read and without the index, and records the hit.
    /// It finds a body only while the memory tier is full and lacks the entry, and only if an earlier
    /// ``load(_:expectingURL:mayWait:)`` noted the slot. An entry that is requested again after a short time also
    /// enters the memory tier. This call does not wait for that, because it needs the index.
    package func passing(_ key: String, at now: Timestamp, mayWait: Bool = false) -> Lookup<PassingBody?> {
        let hash = ExactText(key).hashValue
        guard let (slot, ticket) = parts.slotTable.find(hash) else { return .found(nil) }
        let way = parts.memory.way(of: key, cost: slot.slotClass.size)
        guard way != .in else { return .found(nil) }
        guard let (bytes, count) = parts.slab.content(of: slot, mayWait: mayWait) else {
            return mayWait ? .found(nil) : .onDisk
        }
        let content = UnsafeRawBufferPointer(rebasing: bytes.bytes[..<count])
        let found = withExtendedLifetime(bytes) { () -> (PassingBody, version: Int64)? in
            guard let range = SlabRecordView.body(in: content), let record = SlabRecordView(content),
                record.key.elementsEqual(key.utf8), record.expiry > now.milliseconds, record.stored <= now.milliseconds,
                record.isDigest(of: UnsafeRawBufferPointer(rebasing: content[range]))
            else { return nil }
            let body = PassingBody(
                bytes: bytes, range: range, digestPrefix: Array(record.digestPrefix), contentType: record.contentType,
                lastModified: record.lastModified, expiryDate: Timestamp(milliseconds: record.expiry))
            return (body, record.version)
        }
        guard let (body, version) = found else {
            // Only a part of the slot was in memory. The rest of the record may be on the disk.
            return !mayWait && count < slot.slotClass.size ? .onDisk : .found(nil)
        }
        // The slot may have been freed since the look-up, and written again by a transaction that is not committed.
        guard parts.slotTable.isCurrent(ticket, for: hash) else { return .found(nil) }
        parts.memory.hasPassed(key, remembered: way == .past)
        if way == .pastAndIn { admit(key) }
        noteHit(of: key, version: version)
        return .found(body)
    }

    /// Brings an entry into the memory tier: at once if that needs no disk, otherwise on a disk thread; not at all
    /// while these are busy. Counts no hit. Ignores an error, because the next request for the entry gets it, too.
    private func admit(_ key: String) {
        guard case .onDisk? = try? bring(key, mayWait: false) else { return }
        diskThreads.runUnlessBusy { [weak self] in _ = try? self?.bring(key, mayWait: true) }
    }

    /// Lists a page. A page with fewer than `limit` entries may not be the last. In the order of ``EntrySort/key``,
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
            // A flush ended during this read, and may end during any long read. So each entry is read again alone.
            for row in rows.prefix(limit) {
                Processor.offer()
                if let entry = try entry(for: row.entry.key) { entries.append(entry) }
            }
        }
        let isLast = rows.count <= limit
        let nextCursor = isLast ? nil : ListCursor(at: rows[limit - 1], sort: sort).text(filter: filter, sort: sort)
        // A slide that is still pending may have made a stale entry fresh.
        let matching = filter.state.map { state in entries.filter { $0.isFresh(at: now) == (state == .fresh) } }
        return EntryPage(entries: matching ?? entries, nextCursor: nextCursor)
    }
}

/// A small body that is sent without entering the memory tier, with the metadata that an answer needs.
package struct PassingBody: Sendable {
    package let bytes: SharedBytes
    package let range: Range<Int>
    /// The first 16 bytes of the SHA-256 of the body.
    package let digestPrefix: [UInt8]
    package let contentType: String?
    package let lastModified: String?
    package let expiryDate: Timestamp
}
