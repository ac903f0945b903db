import Primitives
import Synchronization

/// The hits, last accesses and slides (renewals of the expiry date) that are not in the index yet. The writer writes
/// them about once a second, because a disk write for each hit would be too slow. A caller asks for ``pending(_:)``
/// hits *after* reading an entry. No hit counts twice or is missed, although a flush may commit at any moment:
/// - A flush reports an entry's new number of hits *before* its commit (``wrote(_:hits:)``). A caller that asks before
///   the report has read the entry without the flush, and adds the noted hits. A later caller takes the reported
///   number, whether it read the entry before or after the commit.
/// - A flush that ends between a caller's read and its question increments `flushesEnded` before it drops its hits, so
///   that ``settled(_:)`` reads again.
///
/// A flush is kept until it is committed, or undone and put back. A transaction may flush a key twice, with all keys
/// and then for an update of the key, and the second flush may be undone alone. Slides are kept until they are written;
/// the least recent hits are forgotten (``HitTable``) when entries are read faster than the index can be updated.
package final class HitLog: Sendable {
    struct Flush: Sendable {
        fileprivate var number: Int
        var items: [(key: String, pending: PendingHits)] = []
    }

    package struct FlushLimit: Sendable {
        var slides: Int
        var hits: Int
        /// Takes only the renewed expiry dates that ``HitLog/markSlides()`` has marked.
        var onlyMarked = false

        /// All renewed expiry dates, and as many entries with hits as all shards can hold. A flush takes half a second.
        package static let all = FlushLimit(slides: .max, hits: 2 * HitTable.generationLimit * HitLog.shardCount)
        /// For a flush each second. Writing 10,000 entries a second, a page or two each, took over half of two cores.
        package static let periodic = FlushLimit(slides: 4096, hits: 512)

        static func marked(_ limit: Int) -> FlushLimit { FlushLimit(slides: limit, hits: 0, onlyMarked: true) }
    }

    private struct Shard {
        var pending = HitTable()
        /// The entries of the memory tier that have counted hits (``HitCounter``) since their last flush.
        var counters = CounterQueue()
        var countedHits: Int64 = 0
        /// The flushes that have not ended, the earliest first.
        var flushing: [ExactText: [(number: Int, pending: PendingHits, writtenHits: Int64?)]] = [:]
        var isEmpty: Bool { pending.isEmpty && counters.isEmpty }

        private mutating func takeCounted(_ key: ExactText, _ clock: HitClock) -> PendingHits? {
            guard let counted = counters.remove(key)?.take(clock) else { return nil }
            countedHits += counted.hits
            return counted
        }

        mutating func takeCounter(_ key: ExactText, _ clock: HitClock) {
            if let counted = takeCounted(key, clock) { _ = pending.add(counted, for: key) }
        }

        /// Moves the hits and renewed expiry dates of `keys` to a flush. Returns the number of entries moved. Counted
        /// hits do not pass through `pending`, because there they could push out hits that are not written yet.
        mutating func take(_ keys: some Sequence<ExactText>, for flush: inout Flush, _ clock: HitClock) -> Int {
            let before = flush.items.count
            for key in keys {
                var sum = pending.remove(key)
                if let counted = takeCounted(key, clock), sum?.merge(counted) == nil { sum = counted }
                guard let sum else { continue }
                flushing[key, default: []].append((flush.number, sum, nil))
                flush.items.append((key.text, sum))
            }
            return flush.items.count - before
        }

        mutating func remove(_ number: Int, of key: ExactText) -> PendingHits? {
            guard let index = flushing[key]?.firstIndex(where: { $0.number == number }) else { return nil }
            defer { if flushing[key]?.isEmpty == true { flushing[key] = nil } }
            return flushing[key]?.remove(at: index).pending
        }
    }

    private static let shardCount = 16
    private let shards = Sharded(count: HitLog.shardCount) { Shard() }
    private let flushesBegun = Atomic<Int>(0)
    /// Counts the flushes that are not for a single key.
    private let rounds = Atomic<Int>(0)
    private let flushesEnded = Atomic<Int>(0)
    let clock: HitClock

    init(_ clock: HitClock) {
        self.clock = clock
    }

    /// Returns whether the shard was empty before; then the caller must request a flush.
    func note(_ hits: PendingHits, for key: String) -> Bool {
        let key = ExactText(key)
        // The forgotten hits are freed after the lock is released.
        let (isFirst, _) = shards[key.hashValue].withLock { shard in
            (shard.isEmpty, shard.pending.add(hits, for: key))
        }
        return isFirst
    }

    package func noteHit(of key: String, version: Int64) -> Bool {
        note(PendingHits(version: version, hits: 1, lastAccess: clock.now()), for: key)
    }

    /// Registers an entry in memory that counts hits itself. Returns whether the caller must request a flush.
    func register(_ counter: HitCounter, for key: ExactText, version: Int64) -> Bool {
        shards[key.hashValue].withLock { shard in
            guard counter.register() else { return false }
            let isFirst = shard.isEmpty
            // Takes the hits that another version of the entry has counted. That version has left the memory tier.
            shard.takeCounter(key, clock)
            shard.counters.append(counter, for: key, version: version)
            return isFirst
        }
    }

    func isPending(_ key: String) -> Bool {
        let key = ExactText(key)
        return shards[key.hashValue].withLock { $0.pending[key] != nil || $0.counters[key] != nil }
    }

    /// Moves the hits that an entry has counted to the ``HitTable``, because the entry has left the memory tier.
    func retire(_ counter: HitCounter, of key: ExactText) {
        shards[key.hashValue].withLock { shard in
            if shard.counters[key]?.counter === counter { shard.takeCounter(key, clock) }
        }
    }

    /// The hits and the renewed expiry date that an earlier read of the key's entry may lack.
    func pending(_ key: String) -> PendingHits? {
        let key = ExactText(key)
        return shards[key.hashValue].withLock { shard in
            var sum: PendingHits?
            for flush in shard.flushing[key] ?? [] {
                let pending = flush.writtenHits.map(flush.pending.written) ?? flush.pending
                if sum?.merge(pending) == nil { sum = pending }
            }
            if let later = shard.pending[key], sum?.merge(later) == nil { sum = later }
            if let later = shard.counters[key]?.pending(clock), sum?.merge(later) == nil { sum = later }
            return sum
        }
    }

    /// Runs `read`, which reads entries and ``pending(_:)`` hits. `nil`: a flush ended during it, so it may lack hits.
    func ifSettled<Value>(_ read: () throws(DiskCacheError) -> Value) throws(DiskCacheError) -> Value? {
        let before = flushesEnded.load(ordering: .acquiring)
        let value = try read()
        return flushesEnded.load(ordering: .acquiring) == before ? value : nil
    }

    /// Repeats `read`, as ``ifSettled(_:)`` runs it, until no flush ends during it. The closure must be short.
    func settled<Value>(_ read: () throws(DiskCacheError) -> Value) throws(DiskCacheError) -> Value {
        while true {
            if let value = try ifSettled(read) { return value }
        }
    }

    var countedHits: Int64 {
        shards.sum { $0.countedHits + $0.counters.pendingHits }
    }

    /// Marks all pending expiry dates, for an operation that needs them in the index; see ``hasMarkedSlides``.
    func markSlides() {
        for shard in shards.all { shard.withLock { $0.pending.markSlides() } }
    }

    /// Whether expiry dates that an operation has marked (``markSlides()``) are still to be written.
    var hasMarkedSlides: Bool {
        shards.all.contains { $0.withLock { $0.pending.markedCount > 0 } }
    }

    func hasMoreSlides(than limit: FlushLimit) -> Bool {
        shards.sum { $0.pending.slideCount } > limit.slides
    }

    var isEmpty: Bool {
        shards.all.allSatisfy { $0.withLock { $0.isEmpty } }
    }

    // MARK: - For the writer

    func beginFlush(limit: FlushLimit = .all, only key: String? = nil) -> Flush {
        var flush = Flush(number: flushesBegun.add(1, ordering: .relaxed).newValue)
        if let key {
            let key = ExactText(key)
            _ = shards[key.hashValue].withLock { $0.take([key], for: &flush, clock) }
            return flush
        }
        var left = limit
        // Each flush begins with another shard, because the hits of a single shard may exceed the limit.
        let first = rounds.add(1, ordering: .relaxed).newValue
        for offset in 0..<Self.shardCount where left.slides > 0 || left.hits > 0 {
            shards[first + offset].withLock { shard in
                let slid = shard.pending.slidKeys(limit: left.slides, onlyMarked: limit.onlyMarked)
                left.slides -= shard.take(slid, for: &flush, clock)
                let hit = shard.pending.hitKeys(limit: left.hits)
                // Takes at least half from the entries that count their own hits, if there are so many of them.
                let counted = shard.counters.oldest(max(left.hits / 2, left.hits - hit.count))
                left.hits -= shard.take(counted, for: &flush, clock)
                left.hits -= shard.take(hit.prefix(left.hits), for: &flush, clock)
            }
        }
        return flush
    }

    /// Reports the new numbers of hits, which include the hits of the flush. Must be called before the commit.
    func wrote(_ flush: Flush, hits: [ExactText: Int64]) {
        for (key, hits) in hits {
            shards[key.hashValue].withLock { shard in
                guard let index = shard.flushing[key]?.firstIndex(where: { $0.number == flush.number }) else { return }
                shard.flushing[key]?[index].writtenHits = hits
            }
        }
    }

    /// Drops a flush, once the flush is committed and the memory tier shows the flushed hits.
    func endFlush(_ flush: Flush) {
        // Counted before the hits are dropped; see the type's comment.
        flushesEnded.add(1, ordering: .releasing)
        for (text, _) in flush.items {
            let key = ExactText(text)
            shards[key.hashValue].withLock { _ = $0.remove(flush.number, of: key) }
        }
    }

    func cancelFlush(_ flush: Flush) {
        for (text, _) in flush.items {
            let key = ExactText(text)
            _ = shards[key.hashValue].withLock { shard in
                shard.remove(flush.number, of: key).map { shard.pending.putBack($0, for: key) }
            }
        }
    }
}

/// The clock for the times of hits, by which listings sort: the wall clock, but it never goes back, so that no access
/// looks older than earlier accesses. While the wall clock is behind, this clock advances a millisecond whenever the
/// wall clock has moved, so hits keep their order. Advancing at each hit would outrun the wall clock on a busy server.
final class HitClock: Sendable {
    private struct State {
        var latest: Timestamp
        /// The wall clock's time when `latest` was returned.
        var wall: Timestamp

        mutating func advance(to clock: any WallClock) -> Timestamp {
            // Read under the lock, because another thread's earlier reading would look like a clock that was set back.
            let now = clock.now()
            if now > latest {
                latest = now
            } else if now != wall, now < latest {
                latest = latest + .milliseconds(1)
            }
            wall = now
            return latest
        }
    }

    private let clock: any WallClock
    private let state: Locked<State>

    init(_ clock: any WallClock, notBefore start: Timestamp) {
        self.clock = clock
        state = Locked(State(latest: start, wall: clock.now()))
    }

    func now() -> Timestamp { state.withLock { $0.advance(to: clock) } }

    /// Returns `noted`, a recent time of the wall clock, or this clock's time while the wall clock is behind it.
    func instant(ofHitAt noted: Timestamp) -> Timestamp {
        state.withLock { state in
            // ``HotEntry`` notes hits by the wall clock without advancing this clock.
            if noted > state.latest { (state.latest, state.wall) = (noted, noted) }
            return clock.now() < state.latest ? state.advance(to: clock) : noted
        }
    }
}
