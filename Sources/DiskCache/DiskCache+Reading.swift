import Foundation
import Primitives

extension DiskCache {
    /// The entry of that key with its body, fresh or stale: from the memory tier, or by one look-up in the index.
    ///
    /// A small body's digest is checked when it is read from the slab; a file's size, times and inode are held against
    /// the index when it is opened. What does not agree is never served: ``LoadResult/needsVerification``.
    ///
    /// - Parameters:
    ///   - url: the canonical URL that the key was made of; an entry of another URL with the same MD5 is none. `nil`:
    ///     whatever has the key.
    ///   - mayWait: whether this thread may wait for the disk; if not, the answer may be ``LoadResult/onDisk``.
    /// - Throws: ``DiskCacheError/fileSystem(operation:path:errno:)``, ``DiskCacheError/index(code:message:)``,
    ///   ``DiskCacheError/closed``.
    public func load(
        _ key: String, expectingURL url: String? = nil, mayWait: Bool = true
    ) throws(DiskCacheError) -> LoadResult {
        try parts.access.settled { () throws(DiskCacheError) in
            try loadOnce(key, expectingURL: url, mayWait: mayWait)
        }
    }

    private func loadOnce(
        _ key: String, expectingURL url: String?, mayWait: Bool
    ) throws(DiskCacheError) -> LoadResult {
        if let held = parts.memory.value(for: key) {
            guard held.entry.isOf(url) else { return .absent }
            // Before anything is asked that may change.
            let mark = held.hot.mark
            return .hit(StoredEntry(entry: current(held.entry), body: held.body, hot: mark))
        }
        return try read(key, expectingURL: url, mayWait: mayWait)
    }

    /// Brings something into the memory tier that was asked for and answered in another way; nothing is counted.
    func bring(_ key: String, mayWait: Bool) throws(DiskCacheError) -> LoadResult? {
        try parts.access.settled { () throws(DiskCacheError) in
            guard parts.memory.peek(key) == nil else { return nil }
            return try read(key, expectingURL: nil, mayWait: mayWait)
        }
    }

    /// ``load(_:expectingURL:mayWait:)`` of what was not in the memory tier a moment ago.
    private func read(
        _ key: String, expectingURL url: String?, mayWait: Bool
    ) throws(DiskCacheError) -> LoadResult {
        let ticket = parts.memory.ticket(for: key)
        let hash = ExactText(key).hashValue
        let slotTicket = parts.slotTable.ticket(for: hash)
        // A body that does not agree may have been replaced since the row was read. Then the row has changed too.
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
                let hot = HotEntry(
                    key: entry.key, version: entry.version, log: parts.access, clock: parts.accessClock
                ) { [weak writer] in writer?.flushSoon() }
                parts.memory.insert(
                    HeldEntry(entry: entry, body: body, hot: hot), for: key, cost: cost, ticket: ticket,
                    tally: hot)
            }
            return .hit(StoredEntry(entry: shown, body: body))
        }
        return .needsVerification
    }

    /// Finds out whether an entry's body is what it should be, however its file looks, by reading all of it; on a
    /// thread for such work. The entry is kept when it is, and removed when it is not or when its file has gone.
    ///
    /// `completion` gets the entry with its body, or `nil` when there is none (any more). It must not wait.
    public func verify(
        _ key: String, completion: @escaping @Sendable (Result<StoredEntry?, DiskCacheError>) -> Void
    ) {
        verifier.verify(key, completion: completion)
    }

    /// ``load(_:expectingURL:)`` and, when that is needed, ``verify(_:completion:)``.
    public func stored(_ key: String, expectingURL url: String? = nil) async throws(DiskCacheError) -> StoredEntry? {
        switch try load(key, expectingURL: url) {
        case .hit(let stored): return stored
        case .absent: return nil
        case .needsVerification, .onDisk:
            let stored = try await withCheckedContinuation { continuation in
                verify(key) { continuation.resume(returning: $0) }
            }.get()
            return stored.flatMap { $0.entry.isOf(url) ? $0 : nil }
        }
    }

    /// The metadata of the entry of that key, fresh or stale; `nil` when there is none. The body is not looked at. It
    /// waits for the disk.
    ///
    /// - Parameter url: see ``load(_:expectingURL:mayWait:)``.
    public func entry(for key: String, expectingURL url: String? = nil) throws(DiskCacheError) -> Entry? {
        guard case .found(let entry) = try lookUp(key, mayWait: true), let entry, entry.isOf(url) else { return nil }
        return entry
    }

    /// ``entry(for:expectingURL:)`` for a thread that may not wait: `completion` is called at once when what it takes
    /// is in memory, else on a thread that may.
    public func findEntry(
        _ key: String, completion: @escaping @Sendable (Result<Entry?, DiskCacheError>) -> Void
    ) {
        let find = { @Sendable [self] (mayWait: Bool) in
            Result { () throws(DiskCacheError) in try lookUp(key, mayWait: mayWait) }
        }
        switch find(false) {
        case .success(.found(let entry)): completion(.success(entry))
        case .success(.onDisk):
            onDiskThread {
                completion(
                    find(true).map { lookup in
                        if case .found(let entry) = lookup { entry } else { nil }
                    })
            }
        case .failure(let error): completion(.failure(error))
        }
    }

    private func lookUp(_ key: String, mayWait: Bool) throws(DiskCacheError) -> Lookup<Entry?> {
        try parts.access.settled { () throws(DiskCacheError) in
            switch try parts.reader.row(forKey: key, mayWait: mayWait) {
            case .found(let row): .found(row.map { current($0.entry) })
            case .onDisk: .onDisk
            }
        }
    }

    /// What is held of an origin's answers to exactly that URL: every variant, fresh or stale, at most `limit`; of more
    /// than ``Entry/variantLimit`` none are kept. Bodies are not looked at.
    ///
    /// - Parameter mayWait: whether this thread may wait for the disk.
    /// - Returns: `nil` when it would have to and may not.
    public func responses(
        to url: ResponseURL, limit: Int = Entry.variantLimit, mayWait: Bool
    ) throws(DiskCacheError) -> [Entry]? {
        try parts.access.settled { () throws(DiskCacheError) in
            let lookup = try parts.reader.variants(ofMD5: url.md5, limit: limit, mayWait: mayWait)
            guard case .found(let rows) = lookup else { return nil }
            return rows.filter { $0.entry.url == url.text }.map { current($0.entry) }
        }
    }

    /// ``responses(to:limit:mayWait:)``, and waits.
    public func responses(to url: ResponseURL, limit: Int = Entry.variantLimit) throws(DiskCacheError) -> [Entry] {
        try responses(to: url, limit: limit, mayWait: true) ?? []
    }

    /// Notes that an entry was handed out. It costs no I/O, and what is read shows it at once. It is written down
    /// within a second or, when hundreds of entries are handed out each second, when its turn comes; of thousands only
    /// those that are handed out often are sure to have one.
    public func recordHit(_ entry: Entry) {
        note(PendingAccess(version: entry.version, hits: 1, lastAccess: parts.accessClock.now()), for: entry.key)
    }

    /// Slides an entry's expiry: it stays fresh for `ttl` from now, and that is its ttl from now on; `nil`: for its own
    /// ttl. Noted as a hit is: at once for all who read, within a second on disk.
    ///
    /// - Returns: the entry as it is now.
    public func slide(_ entry: Entry, ttl: Duration? = nil) -> Entry {
        let ttl = max(ttl ?? entry.ttl, .zero)
        let slide = PendingAccess.Slide(ttl: ttl, expiryDate: parts.clock.now() + ttl)
        note(PendingAccess(version: entry.version, slide: slide), for: entry.key)
        parts.memory.peek(entry.key)?.hot.change()
        parts.slotTable.remove(ExactText(entry.key).hashValue)
        var entry = entry
        entry.ttl = slide.ttl
        entry.expiryDate = slide.expiryDate
        return entry
    }

    // MARK: - Answers at hand

    /// Lets an answer that was made of an entry be kept, ready to be sent again, as long as nothing changes about the
    /// entry, and no more than a few others of it come later. Its memory counts in the memory tier's.
    ///
    /// - Parameters:
    ///   - mark: from the ``StoredEntry`` that the answer was made of.
    ///   - requests: a hash of the requests that the answer is for; a later answer to the same takes its place.
    ///   - bytes: what the answer takes beside the body.
    ///   - onEnd: called once, when the answer must be dropped, because it is no longer right or has to make way for
    ///     others; it must not wait.
    /// - Returns: false when it must not be kept, whether `onEnd` was called or not: something has changed already, or
    ///   there is no room.
    public func keepAtHand(
        _ mark: HotEntry.Mark, for requests: Int, bytes: Int, onEnd: @escaping @Sendable () -> Void
    ) -> Bool {
        guard let extra = mark.entry.attach(mark, for: requests, bytes: bytes, onEnd) else { return false }
        // For its room the entry itself may have to go, and the answer with it.
        if extra == 0 || parts.memory.charge(extra, to: mark.entry.key.text) { return true }
        mark.entry.refuse(extra)
        return false
    }

    /// Says later whether what ``responses(to:limit:)`` found is still so. Take it before.
    public func mark(ofResponsesTo url: ResponseURL) -> ChangeMark {
        parts.responseChanges.mark(url.md5)
    }

    /// Has every ``ChangeMark`` of that URL be out of date: there is a newer response to it, though not stored yet.
    public func noteChange(ofResponsesTo url: ResponseURL) {
        parts.responseChanges.change(url.md5)
    }

    // MARK: - Steps

    /// About what an entry takes in memory beside its body and its texts.
    private static let memoryCost = 768

    /// By how much an entry may stay fresh for longer than its ttl from now before that counts as wrong.
    private static let clockTolerance: Duration = .seconds(60)

    /// An entry that was read, with what is not written down yet.
    ///
    /// When it claims to stay fresh for longer than its ttl from now, it was stored, or slid, under a clock that was
    /// ahead and has been set right. It would stay fresh until that clock's time has come; instead, its ttl counts from
    /// now.
    func current(_ entry: Entry) -> Entry {
        let entry = entry.applying(parts.access.pending(entry.key))
        return entry.expiryDate > parts.clock.now() + entry.ttl + Self.clockTolerance ? slide(entry) : entry
    }

    func note(_ access: PendingAccess, for key: String) {
        if parts.access.note(access, for: key) { writer.flushSoon() }
    }

    /// The body, if it is what the row says; `nil` when that would have to be found out. And whether the slab alone is
    /// enough to answer with it.
    private func body(
        of row: EntryRow, mayWait: Bool
    ) throws(DiskCacheError) -> Lookup<(body: StoredBody, isPassable: Bool)?> {
        guard let path = row.path else {
            guard let slot = row.slot else { return .found(nil) }
            switch try parts.slab.body(of: row.entry, in: slot, mayWait: mayWait) {
            case .found(let found):
                return .found(
                    found.map { (.bytes($0.bytes), $0.agrees && parts.configuration.isAnsweredByRecord(row.entry)) })
            case .onDisk: return .onDisk
            }
        }
        let (file, status): (BodyFile, FileStatus?)
        do {
            let lookup =
                if mayWait {
                    Lookup.found(try parts.bodies.open(row, path: path))
                } else {
                    try parts.bodies.openCached(row, path: path)
                }
            guard case .found(let opened) = lookup else { return .onDisk }
            (file, status) = (opened.file, opened.status)
        } catch {
            if error.isMissingFile { return .found(nil) }
            throw error
        }
        guard status?.identity == row.identity else { return .found(nil) }
        if mayWait { return .found((try file.stored(upTo: parts.wholeReadLimit), false)) }
        return file.cached(upTo: parts.wholeReadLimit).map { .found(($0, false)) } ?? .onDisk
    }
}

extension Entry {
    /// Whether it is an entry of that canonical URL; of any, when there is none.
    fileprivate func isOf(_ url: String?) -> Bool {
        url == nil || url == self.url
    }
}

extension BodyFile {
    /// The body as it is handed out: read whole when it is short.
    func stored(upTo limit: Int64) throws(DiskCacheError) -> StoredBody {
        if length <= limit { return .bytes(try readWhole()) }
        // So that whoever sends it finds the beginning in memory; the rest comes ahead of where it is read.
        _ = try read(0..<min(length, Self.readAhead))
        return .file(self)
    }

    /// The same when that is in memory; `nil` when it has to be read from the disk.
    func cached(upTo limit: Int64) -> StoredBody? {
        if length <= limit { return readCached(0..<length).map { .bytes($0) } }
        // The kernel reads much at once: what is between these is there when they are.
        let places = stride(from: 0, to: min(length, Self.readAhead), by: 64 << 10)
        return places.allSatisfy { readCached($0..<$0 + 1) != nil } ? .file(self) : nil
    }

    /// As much of a long body is asked for before its first byte is sent.
    private static let readAhead: Int64 = 256 << 10
}

extension DiskCacheError {
    /// Whether there is no such file where one should be, or one that the disk cannot read any more.
    var isMissingFile: Bool {
        guard case .fileSystem(_, _, let code) = self else { return false }
        return [ENOENT, ENOTDIR, EISDIR, ELOOP, ENXIO, EIO, EUCLEAN, EBADMSG].contains(code)
    }
}
