import Primitives

/// The entries in memory that count their own hits, in the order in which they began to count. A flush takes the hits
/// of the entries that have waited longest. Belongs to a shard of the ``HitLog``, under its lock.
struct CounterQueue {
    struct Item {
        let counter: HitCounter
        let version: Int64
        /// The position in the order of appending.
        fileprivate let turn: Int

        /// The hits that the log has not taken.
        func pending(_ clock: HitClock) -> PendingHits { pending(counter.hits, clock) }

        /// Takes the hits from the counter.
        func take(_ clock: HitClock) -> PendingHits { pending(counter.take(), clock) }

        private func pending(_ hits: HitCounter.Hits, _ clock: HitClock) -> PendingHits {
            var pending = PendingHits(version: version, hits: hits.count)
            // Converts the time, because a hit takes the time of the wall clock, which may have been set back.
            if hits.count > 0 { pending.lastAccess = clock.instant(ofHitAt: hits.last) }
            return pending
        }
    }

    private var items: [ExactText: Item] = [:]
    /// In the order of turns. Places of removed entries stay in it for a while.
    private var queue: [(key: ExactText, turn: Int)] = []
    private var nextTurn = 0

    var isEmpty: Bool { items.isEmpty }

    /// The length of the queue, including places of removed entries.
    var queueLength: Int { queue.count }
    var pendingHits: Int64 { items.values.reduce(0) { $0 + $1.counter.hitCount } }

    subscript(key: ExactText) -> Item? { items[key] }

    /// Adds an entry; its key must not be in the queue.
    mutating func append(_ counter: HitCounter, for key: ExactText, version: Int64) {
        items[key] = Item(counter: counter, version: version, turn: nextTurn)
        queue.append((key, nextTurn))
        nextTurn += 1
        // Clears so seldom that each place of a removed entry is passed over once.
        if queue.count > 2 * items.count + 64 { removeGone() }
    }

    mutating func remove(_ key: ExactText) -> Item? { items.removeValue(forKey: key) }

    /// The keys of the first `limit` entries, for removal.
    mutating func oldest(_ limit: Int) -> [ExactText] {
        guard limit > 0 else { return [] }
        removeGone()
        return queue.prefix(limit).map(\.key)
    }

    private mutating func removeGone() {
        if queue.count > items.count { queue.removeAll { items[$0.key]?.turn != $0.turn } }
    }
}
