import Primitives

/// Entries in memory that count their own hits, in the order in which they began to: whoever takes some takes those
/// that have waited longest. In one shard of the ``AccessLog``, under its lock.
struct CounterQueue {
    private struct Item {
        let entry: HotEntry
        /// When it was appended.
        let turn: Int
    }

    private var items: [ExactText: Item] = [:]
    /// By turn; those of items that are gone are left in it for a while.
    private var queue: [(key: ExactText, turn: Int)] = []
    private var nextTurn = 0

    /// Whether there are none.
    var isEmpty: Bool { items.isEmpty }

    /// How many places there are, of those that are gone too.
    var queueLength: Int { queue.count }

    /// What they have counted.
    var pendingHits: Int64 { items.values.reduce(0) { $0 + $1.entry.pendingHits } }

    subscript(key: ExactText) -> HotEntry? { items[key]?.entry }

    /// Adds an entry whose key is not there.
    mutating func append(_ entry: HotEntry) {
        items[entry.key] = Item(entry: entry, turn: nextTurn)
        queue.append((entry.key, nextTurn))
        nextTurn += 1
        // Each one that is gone is passed over once.
        if queue.count > 2 * items.count + 64 { removeGone() }
    }

    mutating func remove(_ key: ExactText) -> HotEntry? { items.removeValue(forKey: key)?.entry }

    /// The keys of the first `limit`, to be removed.
    mutating func oldest(_ limit: Int) -> [ExactText] {
        guard limit > 0 else { return [] }
        removeGone()
        return queue.prefix(limit).map(\.key)
    }

    private mutating func removeGone() {
        if queue.count > items.count { queue.removeAll { items[$0.key]?.turn != $0.turn } }
    }
}
