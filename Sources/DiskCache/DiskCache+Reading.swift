import Foundation
import Primitives

extension DiskCache {
    /// Loads an entry with its body, fresh or stale. An entry of another URL than `url` counts as absent.
    /// ``LoadResult/onDisk`` comes only without `mayWait`. The result is ``LoadResult/needsVerification`` if a body in
    /// the slab does not match its digest, or if the size, times or inode of a body's file differ from the index.
    package func load(
        _ key: String, expectingURL url: String? = nil, mayWait: Bool = true
    ) throws(DiskCacheError) -> LoadResult {
        try parts.hits.settled { () throws(DiskCacheError) in
            guard let held = parts.memory.value(for: key) else {
                return try read(key, expectingURL: url, mayWait: mayWait)
            }
            guard held.entry.isOf(url) else { return .absent }
            // Taken before `current` reads a renewed expiry date, so that a later renewal makes the mark out of date.
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
    /// which must not wait, gets `nil` when the key has no entry, or no longer has one.
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

    /// All responses to exactly `url`, fresh or stale. Checks no body. `nil` without `mayWait` if the disk is needed.
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

    /// Records a hit without I/O. Reads show it at once, the index within a second, or later when hundreds of entries
    /// are hit each second. When thousands are hit, the index may never get the hits of rarely hit entries.
    package func recordHit(_ entry: Entry) {
        noteHit(of: entry.key, version: entry.version)
    }

    /// Sets the expiry date to now plus `ttl` (`nil`: the entry's). Reads show it at once, the index within a second.
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

    /// Registers a ready answer, which the caller made of the ``StoredEntry`` with this mark. `bytes` counts in the
    /// memory tier: the size of the answer, with a body that only the answer holds. `onEnd`, which must not wait, is
    /// called once when the caller must drop the answer. `requests` is a hash of the requests that the answer serves. A
    /// later answer with this hash replaces it without a call of `onEnd`. `false`: the entry has changed or there is no
    /// room; `onEnd` may have been called.
    package func keepAtHand(
        _ mark: HotEntry.Mark, for requests: Int, bytes: Int, onEnd: @escaping @Sendable () -> Void
    ) -> Bool {
        guard let extra = mark.entry.attach(mark, for: requests, bytes: bytes, onEnd) else { return false }
        // Making room may evict the entry itself, and its answers with it.
        if extra == 0 || parts.memory.charge(extra, to: mark.entry.key.text) { return true }
        mark.entry.refuse(extra)
        return false
    }

    /// Drops the ready answers made of an entry, because their readers are to get another body. The entry stays.
    package func dropAnswers(of key: String) {
        parts.memory.peek(key)?.hot.change()
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

    /// Applies the pending hits and expiry date to an entry that was read. An expiry further ahead than the ttl comes
    /// from a clock that was ahead. The ttl then counts from now, so that the entry does not stay fresh too long.
    func current(_ entry: Entry) -> Entry {
        let entry = entry.applying(parts.hits.pending(entry.key))
        // The date of a resource marks it in the index.
        if entry.kind == .resource { return entry }
        return entry.expiryDate > parts.clock.now() + entry.ttl + Self.clockTolerance ? slide(entry) : entry
    }

    func noteHit(of key: String, version: Int64) {
        if parts.hits.noteHit(of: key, version: version) { writer.flushSoon() }
    }

    /// `nil` when the body needs a verification. `isPassable`: the ``SlabRecord`` in the slot is enough for an answer.
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

/// Look-ups that never block the caller. Each calls `then`, which must not block, exactly once: immediately on the
/// caller's thread when memory alone can answer, otherwise later on a thread that may wait for the disk (`mayWait`).
extension DiskCache {
    /// Finds an entry with its body, fresh or stale. If the body fails a quick check, reads and verifies the body
    /// first. An entry with a damaged body counts as absent. For `url` see ``load(_:expectingURL:mayWait:)``.
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

    /// Reads the small body of an entry, fresh at `now`, from its slot with a single read and without the index, and
    /// records the hit. Finds a body only while the memory tier is full and lacks the entry, and only if an earlier
    /// ``load(_:expectingURL:mayWait:)`` noted the slot. If the entry was requested a short time before, it also enters
    /// the memory tier. This call does not wait until the entry is in the tier, because that needs the index.
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
            // Only a part of the slot was in memory. The rest of the ``SlabRecord`` may be on the disk.
            return !mayWait && count < slot.slotClass.size ? .onDisk : .found(nil)
        }
        // The slot may have been freed since the look-up, and written again by a transaction that is not committed.
        guard parts.slotTable.isCurrent(ticket, for: hash) else { return .found(nil) }
        parts.memory.hasPassed(key, remembered: way == .past)
        if way == .pastAndIn { admit(key) }
        noteHit(of: key, version: version)
        return .found(body)
    }

    /// Brings an entry into the memory tier: immediately if that needs no disk, otherwise on a disk thread, or not at
    /// all if all disk threads are busy. Counts no hit. Ignores an error, because the next request gets it, too.
    private func admit(_ key: String) {
        guard case .onDisk? = try? bring(key, mayWait: false) else { return }
        diskThreads.runUnlessBusy { [weak self] in _ = try? self?.bring(key, mayWait: true) }
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
