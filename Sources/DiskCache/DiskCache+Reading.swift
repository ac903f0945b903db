import Foundation
import Primitives

extension DiskCache {
    /// Loads an entry with its body, fresh or stale. An entry of another URL than `url` counts as absent.
    /// ``LoadResult/onDisk`` comes only without `mayWait`. A small body from the slab is compared with its digest, a
    /// file's size, times and inode with the index. After a difference the result is ``LoadResult/needsVerification``.
    package func load(
        _ key: String, expectingURL url: String? = nil, mayWait: Bool = true
    ) throws(DiskCacheError) -> LoadResult {
        try parts.hits.settled { () throws(DiskCacheError) in
            guard let held = parts.memory.value(for: key) else {
                return try read(key, expectingURL: url, mayWait: mayWait)
            }
            guard held.entry.isOf(url) else { return .absent }
            // Taken before `current` reads the pending slides, so that a later slide makes the mark out of date.
            let mark = held.hot.mark
            return .hit(StoredEntry(entry: current(held.entry), body: held.body, hot: mark))
        }
    }

    /// Brings an entry into the memory tier. Counts no hit. `nil` when the tier has the entry already.
    func bring(_ key: String, mayWait: Bool) throws(DiskCacheError) -> LoadResult? {
        try parts.hits.settled { () throws(DiskCacheError) in
            guard parts.memory.peek(key) == nil else { return nil }
            return try read(key, expectingURL: nil, mayWait: mayWait)
        }
    }

    private func read(_ key: String, expectingURL url: String?, mayWait: Bool) throws(DiskCacheError) -> LoadResult {
        let ticket = parts.memory.ticket(for: key)
        let hash = ExactText(key).hashValue
        let slotTicket = parts.slotTable.ticket(for: hash)
        // The body may have been replaced after its row was read, so the second try reads the row again.
        for _ in 0..<2 {
            guard case .found(let found) = try parts.reader.row(forKey: key, mayWait: mayWait) else { return .onDisk }
            guard let row = found, row.entry.isOf(url) else { return .absent }
            guard case .found(let content) = try body(of: row, mayWait: mayWait) else { return .onDisk }
            guard let (body, isPassable) = content else { continue }
            let entry = row.entry
            let shown = current(entry)
            if isPassable, shown.expiryDate == entry.expiryDate, let slot = row.slot {
                parts.slotTable.insert(hash, at: slot, ticket: slotTicket)
            }
            if case .bytes(let bytes) = body {
                let cost = bytes.count + Self.memoryCost + Int(entry.textLength)
                let hot = HotEntry(key: entry.key, version: entry.version, log: parts.hits) { [weak writer] in
                    writer?.flushSoon()
                }
                parts.memory.insert(
                    HeldEntry(entry: entry, body: body, hot: hot), for: key, cost: cost, ticket: ticket, tally: hot)
            }
            return .hit(StoredEntry(entry: shown, body: body))
        }
        return .needsVerification
    }

    /// Checks the body of an entry on the ``Verifier``'s queue. A body in a file is hashed only if the size, times or
    /// inode of the file differ from the index. The entry is removed when the body is damaged or missing. `completion`,
    /// which must not wait, gets `nil` when there is no entry (any more).
    package func verify(_ key: String, completion: @escaping Completion<StoredEntry?>) {
        verifier.verify(key, completion: completion)
    }

    /// The entry, fresh or stale. Checks no body. May wait. For `url` see ``load(_:expectingURL:mayWait:)``.
    package func entry(for key: String, expectingURL url: String? = nil) throws(DiskCacheError) -> Entry? {
        guard case .found(let entry) = try lookUp(key, mayWait: true), let entry, entry.isOf(url) else { return nil }
        return entry
    }

    func lookUp(_ key: String, mayWait: Bool) throws(DiskCacheError) -> Lookup<Entry?> {
        try parts.hits.settled { () throws(DiskCacheError) in
            switch try parts.reader.row(forKey: key, mayWait: mayWait) {
            case .found(let row): .found(row.map { current($0.entry) })
            case .onDisk: .onDisk
            }
        }
    }

    /// All variants of exactly `url`, fresh or stale. Checks no body. `nil`, only without `mayWait`: needs the disk.
    package func responses(
        to url: ResponseURL, limit: Int = Entry.variantLimit, mayWait: Bool
    ) throws(DiskCacheError) -> [Entry]? {
        try parts.hits.settled { () throws(DiskCacheError) in
            let lookup = try parts.reader.variants(ofMD5: url.md5, limit: limit, mayWait: mayWait)
            guard case .found(let rows) = lookup else { return nil }
            return rows.filter { $0.entry.url == url.text }.map { current($0.entry) }
        }
    }

    package func responses(to url: ResponseURL, limit: Int = Entry.variantLimit) throws(DiskCacheError) -> [Entry] {
        try responses(to: url, limit: limit, mayWait: true) ?? []
    }

    /// Records a hit without I/O, and reads show it at once. The index gets it within a second, or later when hundreds
    /// of entries are hit each second. With thousands, only frequent hits are sure to be written.
    package func recordHit(_ entry: Entry) {
        noteHit(of: entry.key, version: entry.version)
    }

    /// Keeps the entry fresh for `ttl` (`nil`: its own) from now. Reads see that at once, the index within a second.
    package func slide(_ entry: Entry, ttl: Duration? = nil) -> Entry {
        let ttl = max(ttl ?? entry.ttl, .zero)
        let slide = PendingHits.Slide(ttl: ttl, expiryDate: parts.clock.now() + ttl)
        if parts.hits.note(PendingHits(version: entry.version, slide: slide), for: entry.key) { writer.flushSoon() }
        parts.memory.peek(entry.key)?.hot.change()
        parts.slotTable.remove(ExactText(entry.key).hashValue)
        var entry = entry
        entry.apply(slide)
        return entry
    }

    /// Registers a ready answer, which the caller made of the ``StoredEntry`` with that mark. Its `bytes` beside the
    /// body count in the memory tier. `onEnd`, which must not wait, is called once when the caller must drop the
    /// answer. A later answer with the same `requests`, a hash of the requests that it serves, replaces the answer and
    /// its `onEnd`. `false`: the entry has changed or there is no room; `onEnd` may have been called then.
    package func keepAtHand(
        _ mark: HotEntry.Mark, for requests: Int, bytes: Int, onEnd: @escaping @Sendable () -> Void
    ) -> Bool {
        guard let extra = mark.entry.attach(mark, for: requests, bytes: bytes, onEnd) else { return false }
        // Making room may evict the entry itself, and its answers with it.
        if extra == 0 || parts.memory.charge(extra, to: mark.entry.key.text) { return true }
        mark.entry.refuse(extra)
        return false
    }

    /// Tells later whether the result of ``responses(to:limit:)`` is still current. Take the mark before the look-up.
    package func mark(ofResponsesTo url: ResponseURL) -> ChangeMark {
        parts.responseChanges.mark(url.md5)
    }

    /// Makes every ``ChangeMark`` of that URL out of date, because there is a newer response that is not stored yet.
    package func noteChange(ofResponsesTo url: ResponseURL) {
        parts.responseChanges.change(url.md5)
    }

    /// The approximate memory of an entry beside its body and its texts.
    private static let memoryCost = 768
    /// An expiry that lies further ahead than the ttl plus this tolerance counts as wrong.
    private static let clockTolerance: Duration = .seconds(60)

    /// Applies the pending hits and slides to an entry that was read. An expiry further ahead than the ttl comes from a
    /// clock that was ahead. The ttl then counts from now, because the entry would otherwise stay fresh too long.
    func current(_ entry: Entry) -> Entry {
        let entry = entry.applying(parts.hits.pending(entry.key))
        return entry.expiryDate > parts.clock.now() + entry.ttl + Self.clockTolerance ? slide(entry) : entry
    }

    func noteHit(of key: String, version: Int64) {
        if parts.hits.noteHit(of: key, version: version) { writer.flushSoon() }
    }

    /// `nil` when the body needs a verification. `isPassable`: the record in the slab is enough for an answer.
    private func body(
        of row: EntryRow, mayWait: Bool
    ) throws(DiskCacheError) -> Lookup<(body: StoredBody, isPassable: Bool)?> {
        guard let path = row.path else {
            guard let slot = row.slot else { return .found(nil) }
            guard case .found(let found) = try parts.slab.body(of: row.entry, in: slot, mayWait: mayWait) else {
                return .onDisk
            }
            return .found(
                found.map { (.bytes($0.bytes), $0.agrees && parts.configuration.isAnsweredByRecord(row.entry)) })
        }
        let opened: Lookup<(file: BodyFile, status: FileStatus?)>
        do {
            opened = try parts.bodies.open(path, length: row.entry.contentLength, mayWait: mayWait)
        } catch  where error.isMissingFile {
            return .found(nil)
        }
        guard case .found((let file, let status)) = opened else { return .onDisk }
        guard status?.identity == row.identity else { return .found(nil) }
        if mayWait { return .found((try file.stored(upTo: parts.wholeReadLimit), false)) }
        return file.cached(upTo: parts.wholeReadLimit).map { .found(($0, false)) } ?? .onDisk
    }
}

extension Entry {
    func isOf(_ url: String?) -> Bool { url == nil || url == self.url }
}
