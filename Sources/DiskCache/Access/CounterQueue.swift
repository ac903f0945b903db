import Primitives

/// The entries in memory that count their own hits, in the order in which they began to count. A flush takes the hits
/// of the entries that have waited longest. Belongs to a shard of the ``AccessLog``, under its lock.
struct CounterQueue {
    private struct Item {
        let entry: HotEntry
        /// The position in the order of appending.
        let turn: Int
    }

    private var items: [ExactText: Item] = [:]
    /// In the order of turns. Places of removed entries stay in it for a while.
    private var queue: [(key: ExactText, turn: Int)] = []
    private var nextTurn = 0

    /// Whether no entries count.
    var isEmpty: Bool { items.isEmpty }

    /// The length of the queue, including places of removed entries.
    var queueLength: Int { queue.count }

    /// The number of hits that the entries have counted.
    var pendingHits: Int64 { items.values.reduce(0) { $0 + $1.entry.pendingHits } }

    subscript(key: ExactText) -> HotEntry? { items[key]?.entry }

    /// Adds an entry; its key must not be in the queue.
    mutating func append(_ entry: HotEntry) {
        items[entry.key] = Item(entry: entry, turn: nextTurn)
        queue.append((entry.key, nextTurn))
        nextTurn += 1
        // Clears so seldom that each place of a removed entry is passed over once.
        if queue.count > 2 * items.count + 64 { removeGone() }
    }

    mutating func remove(_ key: ExactText) -> HotEntry? { items.removeValue(forKey: key)?.entry }

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
