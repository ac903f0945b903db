// Invariants of this file
//
// - `used` is at least the sum of all items' costs, and never more than `limit`: a cost is added before its item goes
//   into a shard, and subtracted after the item left it. What others hold on account of the limit is in `used` too.
// - `current` is never more than `limit`. It falls in small steps, each followed by evicting what is too much: whoever
//   inserts meanwhile has one step's excess to evict at the most.
// - Each shard is guarded by a lock of its own. Nobody holds two locks at once, and nothing but table work happens
//   under one: values are dropped after it was released, since dropping a body may take long or call back.

import Primitives
import Synchronization

/// The hot entries, kept in memory and ready to send, bounded in bytes.
///
/// The table is split into shards by the key's hash, so that threads seldom meet. Keys are told apart by their bytes.
public final class MemoryTier<Value: Sendable>: Sendable {
    private typealias Policy = S3FIFOPolicy

    /// Gives a lock, which cannot be copied, a place in an array.
    private final class Shard: Sendable {
        let state = Locked(MemoryShard<Value, Policy>())
    }

    /// The most bytes that everything in it may cost; 0: nothing is kept.
    public var limit: Int { full.load(ordering: .relaxed) }
    /// The most that one value may cost: an eighth of the limit of now, so that no single body empties the tier.
    public var valueLimit: Int { currentLimit / 8 }
    /// The most bytes that everything in it may cost now: ``limit``, or less; see ``setCurrentLimit(_:)``.
    public var currentLimit: Int { current.load(ordering: .relaxed) }

    private let shards: [Shard]
    private let onTake: @Sendable (Value) -> Void
    private let onLeave: @Sendable (Value) -> Void
    private let full: Atomic<Int>
    private let current: Atomic<Int>
    private let used = Atomic<Int>(0)
    /// The part of `used` that others hold.
    private let others = Atomic<Int>(0)

    /// An empty tier.
    ///
    /// - Parameters:
    ///   - limit: in bytes; 0 (or less) turns the tier off.
    ///   - shardCount: how many locks, at least 1; `nil`: as many as the limit is worth.
    ///   - onTake: called with each value that is removed, replaced or evicted, under the lock with which it is taken
    ///     out.
    ///   - onLeave: called with each value that was removed, replaced or evicted, before whoever did that goes on, on
    ///     its thread and under no lock.
    public init(
        limit: Int, shardCount: Int? = nil, onTake: @escaping @Sendable (Value) -> Void = { _ in },
        onLeave: @escaping @Sendable (Value) -> Void = { _ in }
    ) {
        self.onTake = onTake
        self.onLeave = onLeave
        full = Atomic(max(0, limit))
        current = Atomic(max(0, limit))
        shards = (0..<max(1, shardCount ?? Self.shardCount(forLimit: limit))).map { _ in Shard() }
    }

    /// Each shard decides alone what goes, which it does badly with only a dozen values. With some hundreds it does not
    /// matter.
    private static func shardCount(forLimit limit: Int) -> Int {
        min(16, max(1, limit / (32 << 20)))
    }

    /// The value of a key, which counts as a hit; `nil` when it is not there.
    public func value(for key: String) -> Value? {
        let key = ExactText(key)
        return shards[shardIndex(of: key)].state.withLock { $0.value(for: key) }
    }

    /// The value of a key; it does not count as a hit. `nil` when it is not there.
    func peek(_ key: String) -> Value? {
        let key = ExactText(key)
        return shards[shardIndex(of: key)].state.withLock { $0.peek(key) }
    }

    /// Permission to ``insert(_:for:cost:ticket:)`` what is about to be read. Take it *before* reading.
    public func ticket(for key: String) -> MemoryTicket {
        let shard = shards[shardIndex(of: ExactText(key))]
        return MemoryTicket(invalidations: shard.state.withLock { $0.invalidations })
    }

    /// Keeps a value, in place of an older one of the same key, and evicts others for it.
    ///
    /// The race that the ticket prevents:
    /// 1. A reader misses here and reads version 1 from the disk.
    /// 2. A writer replaces (or purges) the entry on disk, and then calls ``remove(_:)``, which finds nothing.
    /// 3. The reader inserts version 1, which would be served from then on although it is gone.
    ///
    /// The reader took its ticket before it read, so 2 makes the ticket void and 3 is refused. A ticket is void after
    /// *any* removal in its shard: now and then a harmless insert is refused, and the next reader brings it.
    ///
    /// - Parameters:
    ///   - cost: the bytes that the value takes: its body and an estimate of what is around it.
    ///   - ticket: from ``ticket(for:)`` of the same key.
    ///   - tally: counts hits of the value that do not come by ``value(for:)``; `nil`: there are none.
    /// - Returns: whether it was kept: not with a void ticket, nor when it costs more than ``valueLimit``.
    @discardableResult
    package func insert(
        _ value: Value, for key: String, cost: Int, ticket: MemoryTicket, tally: (any HitTally)? = nil
    ) -> Bool {
        let key = ExactText(key)
        let index = shardIndex(of: key)
        let shard = shards[index]
        guard cost >= 0, cost <= valueLimit, limit > 0,
            shard.state.withLock({ $0.invalidations == ticket.invalidations }),
            reserve(cost, evictingFrom: index)
        else { return false }

        let (isKept, replaced) = shard.state.withLock { state in
            guard state.invalidations == ticket.invalidations else { return (false, Optional<Item>.none) }
            let replaced = state.insert(value, for: key, cost: cost, tally: tally)
            if let replaced { onTake(replaced.value) }
            return (true, replaced)
        }
        if !isKept { release(cost) }
        if let replaced { leave(replaced) }
        return isKept
    }

    /// Which way a value goes that is asked for, and would cost so much at least. It does not count as a hit.
    func way(of key: String, cost: Int) -> MemoryWay {
        // Others come and go: with a little room left, of about a value, it is full.
        guard used.load(ordering: .relaxed) >= currentLimit - max(currentLimit / 64, 16 << 10) else { return .in }
        let key = ExactText(key)
        return shards[shardIndex(of: key)].state.withLock { $0.way(of: key, canKeep: cost <= valueLimit) }
    }

    /// A value was read past the tier: it counts as a miss.
    ///
    /// - Parameter remembered: whether it is to be known that it was asked for.
    func hasPassed(_ key: String, remembered: Bool) {
        let key = ExactText(key)
        shards[shardIndex(of: key)].state.withLock { $0.hasPassed(key, remembered: remembered) }
    }

    /// Makes a value that is there cost more, for what is kept beside it, and evicts others for that.
    ///
    /// - Returns: false when there is no value, or no room.
    func charge(_ cost: Int, to key: String) -> Bool {
        let key = ExactText(key)
        let index = shardIndex(of: key)
        guard reserve(cost, evictingFrom: index) else { return false }
        if shards[index].state.withLock({ $0.charge(cost, to: key) }) { return true }
        release(cost)
        return false
    }

    /// Changes the value of a key where it is, if it is there, and makes the tickets of readers void that may be about
    /// to insert it unchanged. It does not count as a hit.
    ///
    /// Call it after the change on disk is committed. `change` runs under a lock: it only sets what costs nothing to
    /// drop.
    public func update(_ key: String, _ change: (inout Value) -> Void) {
        let key = ExactText(key)
        shards[shardIndex(of: key)].state.withLock { $0.update(key, change) }
    }

    /// Removes the value of a key, and makes the tickets of readers void that may be about to insert an old one.
    ///
    /// Call it after the change on disk is committed and before it is acknowledged.
    public func remove(_ key: String) {
        let key = ExactText(key)
        let removed = shards[shardIndex(of: key)].state.withLock { state in
            let removed = state.invalidate(key)
            if let removed { onTake(removed.value) }
            return removed
        }
        if let removed { leave(removed) }
    }

    /// Removes everything, and makes every ticket void.
    public func removeAll() {
        for shard in shards {
            let removed = shard.state.withLock { state in
                let removed = state.invalidateAll()
                for item in removed.values { onTake(item.value) }
                return removed
            }
            for item in removed.values { leave(item) }
        }
    }

    /// Gives memory back: evicts until what is left costs at most `target` bytes. Tickets stay valid, for what is on
    /// disk has not changed.
    ///
    /// - Returns: what has gone cost so many bytes.
    @discardableResult
    public func trim(toBytes target: Int) -> Int {
        var (index, freed) = (0, 0)
        while used.load(ordering: .relaxed) - others.load(ordering: .relaxed) > target,
            let cost = evictOne(startingAt: index)
        {
            index += 1
            freed += cost
        }
        return freed
    }

    /// Changes ``limit``, and ``currentLimit`` to the same. What is too much is evicted. One thread calls it, the same
    /// that calls ``setCurrentLimit(_:)``.
    public func setLimit(_ bytes: Int) {
        full.store(max(0, bytes), ordering: .relaxed)
        setCurrentLimit(bytes)
    }

    /// Changes how much the values in it may cost for now, without what others hold: at most ``limit`` together. What
    /// is too much is evicted. One thread calls it.
    public func setCurrentLimit(_ bytes: Int) {
        let target = min(limit, max(0, bytes) + others.load(ordering: .relaxed))
        let step = max(1 << 20, limit / 256)
        repeat {
            let next = max(target, currentLimit - step)
            current.store(next, ordering: .relaxed)
            trim(toBytes: max(0, next - others.load(ordering: .relaxed)))
        } while currentLimit > target
    }

    /// Says how much memory somebody else holds on account of this tier's limit, and evicts what is too much then. One
    /// thread calls it.
    func setHeldByOthers(_ bytes: Int) {
        used.add(bytes - others.exchange(bytes, ordering: .relaxed), ordering: .relaxed)
        trim(toBytes: max(0, currentLimit - bytes))
    }

    /// How much there is, and what happened since the start.
    public var statistics: MemoryStatistics {
        var sum = MemoryStatistics()
        for shard in shards {
            shard.state.withLock { state in
                sum.count += state.count
                sum.bytes += state.bytes
                sum.hits += state.hits
                sum.misses += state.misses
                sum.evictions += state.evictions
            }
        }
        return sum
    }

    /// `used`: what everything costs that is in the tier or on its way into it.
    var bytesReserved: Int { used.load(ordering: .relaxed) }

    // MARK: - Room

    private typealias Item = MemoryShard<Value, Policy>.Item

    private func shardIndex(of key: ExactText) -> Int {
        Int(UInt(bitPattern: key.hashValue) % UInt(shards.count))
    }

    /// Adds `cost` to what is used, evicting until it fits: from the shard that it is for and, when more must go, from
    /// each other in turn. `false` when nothing is left to evict: others are inserting at this moment.
    private func reserve(_ cost: Int, evictingFrom start: Int) -> Bool {
        var index = start
        while !addIfItFits(cost) {
            guard evictOne(startingAt: index) != nil else { return false }
            index += 1
        }
        return true
    }

    private func addIfItFits(_ cost: Int) -> Bool {
        var total = used.load(ordering: .relaxed)
        while total + cost <= currentLimit {
            let (isDone, original) = used.weakCompareExchange(
                expected: total, desired: total + cost, ordering: .relaxed)
            if isDone { return true }
            total = original
        }
        return false
    }

    private func release(_ cost: Int) {
        used.subtract(cost, ordering: .relaxed)
    }

    /// An item is no longer in its shard.
    private func leave(_ item: Item) {
        release(item.cost)
        onLeave(item.value)
    }

    /// Evicts one value from the first shard that has any, and returns its cost; `nil` when none has.
    private func evictOne(startingAt start: Int) -> Int? {
        for offset in 0..<shards.count {
            let shard = shards[(start + offset) % shards.count]
            let evicted = shard.state.withLock { state in
                let item = state.evict()
                if let item { onTake(item.value) }
                return item
            }
            if let item = evicted {
                leave(item)
                return item.cost
            }
        }
        return nil
    }
}

/// What a reader holds from before it reads until it inserts; see ``MemoryTier/insert(_:for:cost:ticket:)``.
public struct MemoryTicket: Sendable {
    let invalidations: UInt64
}
