import Primitives
import Synchronization

/// Hits, last access and slides that are not in the index yet. Writing them at each hit would make a disk write of
/// every read; the writer takes them once a second.
///
/// What is shown of an entry is what was read of it (from the index, or from the memory tier) with what is asked for
/// here *after* that. So nothing counts twice or is missed, although a flush may be committed at any moment:
/// - A flush says how many hits an entry has with it *before* its commit (``wrote(_:hits:)``). Who asks earlier has
///   read the entry without it, and adds what was noted; who asks later takes that number, whichever of the two was
///   read.
/// - A flush that ends after the entry was read and before this is asked leaves nothing to be found. It counts up
///   `flushesEnded` first, and ``settled(_:)`` reads again.
///
/// Each flush is kept apart until it is committed, and dropped, or undone, and put back: a transaction may flush a key
/// twice, first with all others, then because an update of it comes, and the second may be undone alone.
///
/// Slides are kept until they are written. Of hits the least recent are forgotten (``AccessTable``) when entries are
/// handed out faster than the index can be told: each would be a change of some page of it.
final class AccessLog: Sendable {
    /// What the writer has taken to write it down, in one job of a transaction.
    struct Flush: Sendable {
        fileprivate var number: Int
        var items: [(key: String, access: PendingAccess)] = []
    }

    /// How much one flush takes.
    struct FlushLimit: Sendable {
        /// The most slides, with the hits of their entries.
        var slides: Int
        /// The most entries beside those.
        var hits: Int
        /// Whether of slides only those are taken that ``AccessLog/markSlides()`` has marked.
        var onlyMarked = false

        /// All slides, and as many hits as may be pending (``AccessTable``), which takes half a second. What entries in
        /// memory have counted beyond that stays where it is.
        static let all = FlushLimit(slides: .max, hits: 2 * AccessTable.generationLimit * AccessLog.shardCount)
        /// What is written down in passing, once a second or so. Each entry is a page or two of the index, in the log
        /// and, after that, in the file: 10,000 a second took more than half of two cores.
        static let periodic = FlushLimit(slides: 4096, hits: 512)

        /// Some of the slides that are marked.
        static func marked(_ limit: Int) -> FlushLimit { FlushLimit(slides: limit, hits: 0, onlyMarked: true) }
    }

    private struct Shard {
        var pending = AccessTable()
        /// Where more of it is being counted.
        var counters = CounterQueue()
        /// How many hits those have counted that were taken.
        var countedHits: Int64 = 0
        /// What flushes have taken that are not ended, by their numbers, the earliest first.
        var flushing: [ExactText: [(number: Int, access: PendingAccess, writtenHits: Int64?)]] = [:]

        /// Whether nothing is to be written down.
        var isEmpty: Bool { pending.isEmpty && counters.isEmpty }

        /// What a counter has counted, which is gone then; `nil` when there is none.
        private mutating func takeCounted(_ key: ExactText) -> PendingAccess? {
            guard let access = counters.remove(key)?.takePending() else { return nil }
            countedHits += access.hits
            return access
        }

        /// Moves what a counter has counted to what is pending.
        mutating func takeCounter(_ key: ExactText) {
            if let access = takeCounted(key) { _ = pending.add(access, for: key) }
        }

        /// Moves what is pending about `keys`, and what their counters have counted, to a flush: not by way of what is
        /// pending, where it could push out what nobody has written down. How many of them there were.
        mutating func take(_ keys: some Sequence<ExactText>, for flush: inout Flush) -> Int {
            let before = flush.items.count
            for key in keys {
                var sum = pending.remove(key)
                if let counted = takeCounted(key), sum?.merge(counted) == nil { sum = counted }
                guard let access = sum else { continue }
                flushing[key, default: []].append((flush.number, access, nil))
                flush.items.append((key.text, access))
            }
            return flush.items.count - before
        }

        mutating func remove(_ number: Int, of key: ExactText) -> PendingAccess? {
            guard let index = flushing[key]?.firstIndex(where: { $0.number == number }) else { return nil }
            let access = flushing[key]?.remove(at: index).access
            if flushing[key]?.isEmpty == true { flushing[key] = nil }
            return access
        }
    }

    private final class LockedShard: Sendable {
        let state = Locked(Shard())
    }

    private static let shardCount = 16
    private let shards = (0..<AccessLog.shardCount).map { _ in LockedShard() }
    private let flushesBegun = Atomic<Int>(0)
    /// Counts those flushes that go through all shards.
    private let rounds = Atomic<Int>(0)
    private let flushesEnded = Atomic<Int>(0)

    /// Notes something about an entry. Whether it is the first thing noted in its shard since the last flush, so that
    /// somebody must see to a flush.
    func note(_ access: PendingAccess, for key: String) -> Bool {
        let key = ExactText(key)
        // What is forgotten is dropped after the lock was released.
        let (isFirst, _) = shard(key).state.withLock { shard in
            (shard.isEmpty, shard.pending.add(access, for: key))
        }
        return isFirst
    }

    /// Notes that something is being counted. Whether somebody must see to a flush, as for ``note(_:for:)``.
    func register(_ counter: HotEntry) -> Bool {
        let key = counter.key
        return shard(key).state.withLock { shard in
            guard counter.register() else { return false }
            let isFirst = shard.isEmpty
            // That of another version of the entry, which has left the memory tier.
            shard.takeCounter(key)
            shard.counters.append(counter)
            return isFirst
        }
    }

    /// Whether something about that key waits for a flush.
    func isPending(_ key: String) -> Bool {
        let key = ExactText(key)
        return shard(key).state.withLock { $0.pending[key] != nil || $0.counters[key] != nil }
    }

    /// Counts in what is bounded what an entry counts that has left the memory tier.
    func retire(_ counter: HotEntry) {
        let key = counter.key
        shard(key).state.withLock { shard in
            if shard.counters[key] === counter { shard.takeCounter(key) }
        }
    }

    /// What may not be in the entry of that key as it was read before.
    func pending(_ key: String) -> PendingAccess? {
        let key = ExactText(key)
        return shard(key).state.withLock { shard in
            var sum: PendingAccess?
            for flush in shard.flushing[key] ?? [] {
                let access = flush.writtenHits.map(flush.access.written) ?? flush.access
                if sum?.merge(access) == nil { sum = access }
            }
            if let later = shard.pending[key], sum?.merge(later) == nil { sum = later }
            if let later = shard.counters[key]?.pending, sum?.merge(later) == nil { sum = later }
            return sum
        }
    }

    /// What `read` returns, which reads an entry and asks for what is ``pending(_:)`` of it: `nil` when a flush has
    /// ended meanwhile, so that it may have missed something.
    func ifSettled<Value>(
        _ read: () throws(DiskCacheError) -> Value
    ) throws(DiskCacheError) -> Value? {
        let before = flushesEnded.load(ordering: .acquiring)
        let value = try read()
        return flushesEnded.load(ordering: .acquiring) == before ? value : nil
    }

    /// What `read` returns, which is short, reads an entry and asks for what is ``pending(_:)`` of it; once no flush
    /// ends meanwhile.
    func settled<Value>(_ read: () throws(DiskCacheError) -> Value) throws(DiskCacheError) -> Value {
        while true {
            if let value = try ifSettled(read) { return value }
        }
    }

    /// How many hits were counted by ``HotEntry``s since the start.
    var countedHits: Int64 {
        shards.reduce(0) { sum, shard in
            sum + shard.state.withLock { shard in shard.countedHits + shard.counters.pendingHits }
        }
    }

    /// Marks the slides of now, which decide whether an entry is fresh: whoever must know that of what is in the index
    /// marks them, and goes on once none is left (``hasMarkedSlides``).
    func markSlides() {
        for shard in shards { shard.state.withLock { $0.pending.markSlides() } }
    }

    /// Whether slides are still to be written down that were marked, by whomever.
    var hasMarkedSlides: Bool {
        shards.contains { $0.state.withLock { $0.pending.markedCount > 0 } }
    }

    /// Whether one flush of that kind does not take all slides.
    func hasMoreSlides(than limit: FlushLimit) -> Bool {
        shards.reduce(0) { $0 + $1.state.withLock { $0.pending.slideCount } } > limit.slides
    }

    /// Whether there is anything to flush.
    var isEmpty: Bool {
        shards.allSatisfy { $0.state.withLock { $0.isEmpty } }
    }

    // MARK: - For the writer

    /// Takes at most `limit` of what is pending, or what is pending about `key`.
    func beginFlush(limit: FlushLimit = .all, only key: String? = nil) -> Flush {
        var flush = Flush(number: flushesBegun.add(1, ordering: .relaxed).newValue)
        if let key {
            let key = ExactText(key)
            _ = shard(key).state.withLock { $0.take([key], for: &flush) }
            return flush
        }
        var left = limit
        // Not always from the first: it alone may have more than the limit.
        let first = rounds.add(1, ordering: .relaxed).newValue
        for offset in 0..<shards.count where left.slides > 0 || left.hits > 0 {
            shards[(first + offset) % shards.count].state.withLock { shard in
                let slid = shard.pending.slidKeys(limit: left.slides, onlyMarked: limit.onlyMarked)
                left.slides -= shard.take(slid, for: &flush)
                let hit = shard.pending.hitKeys(limit: left.hits)
                // Half of them at least where there are so many; the others go on counting where they are.
                let counted = shard.counters.oldest(max(left.hits / 2, left.hits - hit.count))
                left.hits -= shard.take(counted, for: &flush)
                left.hits -= shard.take(hit.prefix(left.hits), for: &flush)
            }
        }
        return flush
    }

    /// Says how many hits entries have with those of the flush. Before its commit.
    func wrote(_ flush: Flush, hits: [ExactText: Int64]) {
        for (key, hits) in hits {
            shard(key).state.withLock { shard in
                guard let index = shard.flushing[key]?.firstIndex(where: { $0.number == flush.number }) else { return }
                shard.flushing[key]?[index].writtenHits = hits
            }
        }
    }

    /// Drops what a flush took, once it is committed and whoever caches entries knows.
    func endFlush(_ flush: Flush) {
        // Before anything is dropped: see above.
        flushesEnded.add(1, ordering: .releasing)
        for (text, _) in flush.items {
            let key = ExactText(text)
            shard(key).state.withLock { _ = $0.remove(flush.number, of: key) }
        }
    }

    /// Puts back what a flush took, because it was undone.
    func cancelFlush(_ flush: Flush) {
        for (text, _) in flush.items {
            let key = ExactText(text)
            _ = shard(key).state.withLock { shard in
                shard.remove(flush.number, of: key).map { shard.pending.putBack($0, for: key) }
            }
        }
    }

    private func shard(_ key: ExactText) -> LockedShard {
        shards[Int(UInt(bitPattern: key.hashValue) % UInt(shards.count))]
    }
}
