import Primitives

/// What was done to an entry since it was last written down: it was handed out, and perhaps its expiry slid.
struct PendingAccess: Sendable, Equatable {
    /// A new expiry, as a slide set it.
    struct Slide: Sendable, Equatable {
        var ttl: Duration
        var expiryDate: Timestamp
    }

    /// The version of the entry that this is about; of any other it says nothing.
    var version: Int64
    var hits: Int64 = 0
    var lastAccess = Timestamp(milliseconds: .min)
    var slide: Slide?

    /// Adds what happened later; of two versions the newer counts.
    mutating func merge(_ later: PendingAccess) {
        guard later.version == version else {
            if later.version > version { self = later }
            return
        }
        hits += later.hits
        lastAccess = max(lastAccess, later.lastAccess)
        slide = later.slide ?? slide
    }
}

extension Entry {
    /// The entry as it is with what is still to be written down, or, when that was written, with the hits it has since.
    func applying(_ access: PendingAccess?, hits: Int64? = nil) -> Entry {
        guard let access, access.version == version else { return self }
        var entry = self
        entry.hits = hits ?? entry.hits + access.hits
        entry.lastAccessDate = max(lastAccessDate, access.lastAccess)
        if let slide = access.slide {
            entry.ttl = slide.ttl
            entry.expiryDate = slide.expiryDate
        }
        return entry
    }
}

/// Hits, last access and slides that are not in the index yet. Writing them at each hit would make a disk write of
/// every read; the writer takes them once a second.
///
/// Invariants:
/// - `flushing` holds what a flush has taken until its transaction is committed (then it is dropped) or has failed
///   (then it goes back). At most one flush runs, on the writer's thread.
/// - Who reads an entry asks ``pending(_:)`` *first* and reads the row, or the memory tier, after that. The other way
///   round a slide could be missed that was flushed in between: not yet in the row that was read, and no longer here.
final class AccessLog: Sendable {
    private struct Shard {
        var pending: [ExactText: PendingAccess] = [:]
        var flushing: [ExactText: PendingAccess] = [:]

        /// One transaction may flush a key twice: first with all, then because an update of it comes.
        mutating func take(_ key: ExactText, _ access: PendingAccess) {
            if flushing[key]?.merge(access) == nil { flushing[key] = access }
        }
    }

    private final class LockedShard: Sendable {
        let state = Locked(Shard())
    }

    private let shards = (0..<16).map { _ in LockedShard() }

    /// Notes something about an entry. Whether it is the first thing noted in its shard since the last flush, so that
    /// somebody must see to a flush.
    func note(_ access: PendingAccess, for key: String) -> Bool {
        let key = ExactText(key)
        return shard(key).state.withLock { shard in
            let isFirst = shard.pending.isEmpty
            if shard.pending[key]?.merge(access) == nil { shard.pending[key] = access }
            return isFirst
        }
    }

    /// What is not in the index yet.
    func pending(_ key: String) -> PendingAccess? {
        let key = ExactText(key)
        return shard(key).state.withLock { shard in
            guard var access = shard.flushing[key] else { return shard.pending[key] }
            if let later = shard.pending[key] { access.merge(later) }
            return access
        }
    }

    /// Whether there is anything to flush.
    var isEmpty: Bool {
        shards.allSatisfy { $0.state.withLock { $0.pending.isEmpty } }
    }

    // MARK: - For the writer

    /// Takes about `limit` of what is pending, or what is pending about `key`.
    func beginFlush(limit: Int = .max, only key: String? = nil) -> [(key: String, access: PendingAccess)] {
        var taken: [(key: String, access: PendingAccess)] = []
        if let key {
            let key = ExactText(key)
            shard(key).state.withLock { shard in
                if let access = shard.pending.removeValue(forKey: key) {
                    shard.take(key, access)
                    taken.append((key.text, access))
                }
            }
            return taken
        }
        for item in shards {
            item.state.withLock { shard in
                if shard.pending.count <= limit - taken.count {
                    // The usual case: everything.
                    taken += shard.pending.map { ($0.key.text, $0.value) }
                    for (key, access) in shard.pending { shard.take(key, access) }
                    shard.pending.removeAll(keepingCapacity: true)
                } else {
                    for (key, access) in shard.pending.prefix(max(limit - taken.count, 0)) {
                        shard.pending[key] = nil
                        shard.take(key, access)
                        taken.append((key.text, access))
                    }
                }
            }
        }
        return taken
    }

    /// Drops what a flush took, once it is committed and whoever caches entries knows.
    func endFlush(_ keys: [String]) {
        for text in keys {
            let key = ExactText(text)
            shard(key).state.withLock { $0.flushing[key] = nil }
        }
    }

    /// Puts back what a flush took, because it failed.
    func cancelFlush(_ keys: [String]) {
        for text in keys {
            let key = ExactText(text)
            shard(key).state.withLock { shard in
                guard var access = shard.flushing.removeValue(forKey: key) else { return }
                if let later = shard.pending[key] { access.merge(later) }
                shard.pending[key] = access
            }
        }
    }

    private func shard(_ key: ExactText) -> LockedShard {
        shards[Int(UInt(bitPattern: key.hashValue) % UInt(shards.count))]
    }
}
