// Invariants:
// - `used` is at least the sum of all items' costs and of `others`, the memory of other parts that the limit includes:
//   a cost is added before its item enters a shard and subtracted after the item left it.
// - An insertion never raises `used` above `current`. After a change of a limit or of `others`, `used` may exceed
//   `current` until the eviction has ended. `current` is at most `limit`, except while `setLimit(_:)` lowers both.
//   `current` falls in small steps, so that a concurrent insertion evicts the excess of a single step at most.
// - A thread holds one shard's lock at most, and does only table work under it. Values are dropped after the lock,
//   because dropping a body may take long or call back.

import Primitives
import Synchronization

/// The frequently requested entries in memory, up to a limit in bytes. The key's hash chooses one of several shards.
package final class MemoryTier<Value: Sendable>: Sendable {
    /// The maximum total cost, including the memory that other parts of the cache hold; 0: the tier keeps no value.
    package var limit: Int { full.load(ordering: .relaxed) }
    /// The maximum cost of a single value, so that a single body cannot empty the tier.
    package var valueLimit: Int { currentLimit / 8 }
    /// The maximum total cost for now: ``limit``, or less; see ``setCurrentLimit(_:)``.
    package var currentLimit: Int { current.load(ordering: .relaxed) }
    private let shards: Sharded<MemoryShard<Value>>
    private let onTake: @Sendable (Value) -> Void
    private let onLeave: @Sendable (Value) -> Void
    private let full: Atomic<Int>
    private let current: Atomic<Int>
    private let used = Atomic<Int>(0)
    private let others = Atomic<Int>(0)
    /// The transactions that conceal their keys; see ``suspendInsertions()``.
    private let suspensions = Atomic<Int>(0)

    /// `shardCount` is a power of two; `nil`: by the limit. `onTake` is called with each value that leaves, under the
    /// lock that guards the removal; `onLeave` afterwards, on the same thread, under no lock.
    package init(
        limit: Int, shardCount: Int? = nil, onTake: @escaping @Sendable (Value) -> Void = { _ in },
        onLeave: @escaping @Sendable (Value) -> Void = { _ in }
    ) {
        self.onTake = onTake
        self.onLeave = onLeave
        full = Atomic(max(0, limit))
        current = Atomic(max(0, limit))
        shards = Sharded(count: shardCount ?? Self.shardCount(forLimit: limit)) { MemoryShard() }
    }

    /// A shard for each 32 MiB, at most 16: each shard evicts alone, and chooses badly if it has only a dozen values.
    private static func shardCount(forLimit limit: Int) -> Int { min(16, limit / (32 << 20)) }

    /// Counts a hit or a miss.
    package func value(for key: String) -> Value? {
        let key = ExactText(key)
        return shards[key.hashValue].withLock { $0.value(for: key) }
    }

    /// Counts neither a hit nor a miss.
    func peek(_ key: String) -> Value? {
        let key = ExactText(key)
        return shards[key.hashValue].withLock { $0.peek(key) }
    }

    /// Take the ticket *before* reading the value.
    package func ticket(for key: String) -> MemoryTicket {
        MemoryTicket(invalidations: shards[ExactText(key).hashValue].withLock { $0.invalidations })
    }

    /// Keeps a value, in place of an older value of the key, and evicts others for it. Returns `false` if the ticket is
    /// void, if the cost (of the body and the memory around it) exceeds ``valueLimit``, or if there is no room. `tally`
    /// counts the hits that bypass ``value(for:)``.
    ///
    /// The race that the ticket prevents: 1. A reader misses and reads version 1 from the disk. 2. A writer replaces or
    /// purges the entry, and then calls ``remove(_:)``, which finds no value, but voids the tickets of the shard. 3.
    /// The reader would insert version 1, to be served for ever. If the ticket was void without need, the next reader
    /// inserts the value.
    @discardableResult
    package func insert(
        _ value: Value, for key: String, cost: Int, ticket: MemoryTicket, tally: HitCounter? = nil
    ) -> Bool {
        let key = ExactText(key)
        let shard = shards[key.hashValue]
        guard cost >= 0, cost <= valueLimit, limit > 0,
            shard.withLock({ $0.invalidations == ticket.invalidations }),
            reserve(cost, evictingFrom: key.hashValue)
        else { return false }

        let (isKept, replaced) = shard.withLock { state in
            guard state.invalidations == ticket.invalidations, suspensions.load(ordering: .acquiring) == 0
            else { return (false, Optional<Item>.none) }
            let replaced = state.insert(value, for: key, cost: cost, tally: tally)
            if let replaced { onTake(replaced.value) }
            return (true, replaced)
        }
        if !isKept { release(cost) }
        if let replaced { leave(replaced) }
        return isKept
    }

    /// Chooses the way to read a value of at least `cost` bytes. Does not count as a hit.
    func way(of key: String, cost: Int) -> MemoryWay {
        // Values come and go all the time, so the tier counts as full when its free room is about the size of a value.
        guard used.load(ordering: .relaxed) >= currentLimit - max(currentLimit / 64, 16 << 10) else { return .in }
        let key = ExactText(key)
        return shards[key.hashValue].withLock { $0.way(of: key, canKeep: cost <= valueLimit) }
    }

    /// Counts a miss for a value that was read past the tier. If `remembered`, the next request may bring the value in.
    func hasPassed(_ key: String, remembered: Bool) {
        let key = ExactText(key)
        shards[key.hashValue].withLock { $0.hasPassed(key, remembered: remembered) }
    }

    /// Raises the cost of a value, for memory kept beside it. `false`: the tier lacks the value, or has no room.
    func charge(_ cost: Int, to key: String) -> Bool {
        let key = ExactText(key)
        guard reserve(cost, evictingFrom: key.hashValue) else { return false }
        if shards[key.hashValue].withLock({ $0.charge(cost, to: key) }) { return true }
        release(cost)
        return false
    }

    /// From now on, until ``resumeInsertions()``, no value enters the tier. If the keys of a transaction are removed
    /// before its commit, the commit changes all these keys at one instant, because readers find them on disk only.
    func suspendInsertions() { suspensions.add(1, ordering: .sequentiallyConsistent) }
    func resumeInsertions() { suspensions.subtract(1, ordering: .releasing) }

    /// Changes the value of a key in place, if the tier has it, and makes void the tickets of readers that may be about
    /// to insert the unchanged value. Call it after the commit on disk. `change` runs under a lock, so it must replace
    /// only data that is cheap to drop.
    package func update(_ key: String, _ change: (inout Value) -> Void) {
        let key = ExactText(key)
        shards[key.hashValue].withLock { $0.update(key, change) }
    }

    /// Removes the value of a key, and makes void the tickets of readers that may be about to insert an old value. Call
    /// it after the commit on disk and before the acknowledgement.
    package func remove(_ key: String) {
        let key = ExactText(key)
        _ = take(from: key.hashValue) { $0.invalidate(key) }
    }

    package func removeAll() {
        for shard in shards.all {
            let removed = shard.withLock { state in
                let removed = state.invalidateAll()
                for item in removed.values { onTake(item.value) }
                return removed
            }
            for item in removed.values { leave(item) }
        }
    }

    /// Evicts values until the rest costs at most `target` bytes. Returns the bytes freed. Tickets stay valid.
    @discardableResult
    package func trim(toBytes target: Int) -> Int {
        var (index, freed) = (0, 0)
        while used.load(ordering: .relaxed) - others.load(ordering: .relaxed) > target,
            let cost = evictOne(startingAt: index)
        {
            index += 1
            freed += cost
        }
        return freed
    }

    /// Changes both limits, and evicts the excess. Only one thread may call this method and ``setCurrentLimit(_:)``.
    package func setLimit(_ bytes: Int) {
        full.store(max(0, bytes), ordering: .relaxed)
        setCurrentLimit(bytes)
    }

    /// Changes the maximum total cost of the values for now, and evicts the excess. `bytes` does not include the memory
    /// of other parts of the cache. The values and these parts get at most ``limit``. Only one thread may call this.
    package func setCurrentLimit(_ bytes: Int) {
        let target = min(limit, max(0, bytes) + others.load(ordering: .relaxed))
        let step = max(1 << 20, limit / 256)
        repeat {
            let next = max(target, currentLimit - step)
            current.store(next, ordering: .relaxed)
            trim(toBytes: max(0, next - others.load(ordering: .relaxed)))
        } while currentLimit > target
    }

    /// Sets the bytes that other parts hold within this tier's limit. Only one thread may call this method.
    func setHeldByOthers(_ bytes: Int) {
        used.add(bytes - others.exchange(bytes, ordering: .relaxed), ordering: .relaxed)
        trim(toBytes: max(0, currentLimit - bytes))
    }

    package var statistics: MemoryStatistics {
        var sum = MemoryStatistics()
        for shard in shards.all { sum.add(shard.withLock { $0.statistics }) }
        return sum
    }

    /// Includes the values that are being inserted, and the memory that other parts of the cache hold.
    var bytesReserved: Int { used.load(ordering: .relaxed) }

    // MARK: - Room

    private typealias Item = MemoryShard<Value>.Item

    /// Adds `cost` to `used`. Evicts until it fits, shard by shard from the hash `start` on. Returns `false` when all
    /// shards are empty and other threads' insertions take the room.
    private func reserve(_ cost: Int, evictingFrom start: Int) -> Bool {
        var index = start
        while !addIfItFits(cost) {
            guard evictOne(startingAt: index) != nil else { return false }
            index &+= 1
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

    private func leave(_ item: Item) {
        release(item.cost)
        onLeave(item.value)
    }

    /// Evicts from the first shard that has a value, from the shard of the hash `start` on. Returns the value's cost.
    private func evictOne(startingAt start: Int) -> Int? {
        for offset in 0..<shards.all.count {
            if let item = take(from: start &+ offset, { $0.evict() }) { return item.cost }
        }
        return nil
    }

    /// Takes an item out of the shard of a hash, and drops it after the lock was released.
    private func take(from hash: Int, _ body: (inout MemoryShard<Value>) -> Item?) -> Item? {
        let taken = shards[hash].withLock { state in
            let taken = body(&state)
            if let taken { onTake(taken.value) }
            return taken
        }
        if let taken { leave(taken) }
        return taken
    }
}

/// The permission to insert a value, taken before the read; see ``MemoryTier/insert(_:for:cost:ticket:tally:)``.
package struct MemoryTicket: Sendable {
    let invalidations: UInt64
}
