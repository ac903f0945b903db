import Primitives

/// The entries in memory that count their own hits, in the order in which they began to count. A flush takes the hits
/// of the entries that have waited longest. Belongs to a shard of the ``HitLog``, under its lock.
struct CounterQueue {
    struct Item {
        let counter: HitCounter
        let version: Int64
        fileprivate let turn: Int

        func pending(_ clock: HitClock) -> PendingHits { pending(counter.hits, clock) }

        func take(_ clock: HitClock) -> PendingHits { pending(counter.take(), clock) }

        private func pending(_ hits: HitCounter.Hits, _ clock: HitClock) -> PendingHits {
            var pending = PendingHits(version: version, hits: hits.count)
            // Converts the time, because a hit takes the time of the wall clock, which may have been set back.
            if hits.count > 0 { pending.lastAccess = clock.instant(ofHitAt: hits.last) }
            return pending
        }
    }

    private var items: [ExactText: Item] = [:]
    /// Keys in the order of turns. Places of removed entries stay for a while.
    private var queue: [(key: ExactText, turn: Int)] = []
    private var nextTurn = 0

    var isEmpty: Bool { items.isEmpty }
    var queueLength: Int { queue.count }
    var pendingHits: Int64 { items.values.reduce(0) { $0 + $1.counter.hitCount } }

    subscript(key: ExactText) -> Item? { items[key] }

    /// The key must not be in the queue.
    mutating func append(_ counter: HitCounter, for key: ExactText, version: Int64) {
        items[key] = Item(counter: counter, version: version, turn: nextTurn)
        queue.append((key, nextTurn))
        nextTurn += 1
        // Clears so seldom that each place of a removed entry is passed over once.
        if queue.count > 2 * items.count + 64 { removeGone() }
    }

    mutating func remove(_ key: ExactText) -> Item? { items.removeValue(forKey: key) }

    mutating func oldest(_ limit: Int) -> [ExactText] {
        guard limit > 0 else { return [] }
        removeGone()
        return queue.prefix(limit).map(\.key)
    }

    private mutating func removeGone() {
        if queue.count > items.count { queue.removeAll { items[$0.key]?.turn != $0.turn } }
    }
}
