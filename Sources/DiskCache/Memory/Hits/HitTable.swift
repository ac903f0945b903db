import Primitives

/// The pending hits and slides (renewed expiry dates) of a shard of the ``HitLog``. Slides from before a mark are kept
/// apart, to be written a few at a time; later hits and slides are merged into them. Hits have two generations. A hit
/// moves its entry's hits to the younger. When the younger is full, it becomes the older, and the older is dropped.
struct HitTable {
    /// The caller frees forgotten hits after it has released the lock, because that may take long.
    typealias Forgotten = [ExactText: PendingHits]

    /// The most entries of a generation. The log's 16 shards, each with two, have at most 16,384 entries in some 4 MiB.
    static let generationLimit = 512

    /// The entries with a renewed expiry date, and their hits, noted since the last mark.
    private var slid: [ExactText: PendingHits] = [:]
    /// The entries with a renewed expiry date, and their hits, from before the last mark.
    private var marked: [ExactText: PendingHits] = [:]
    private var younger: [ExactText: PendingHits] = [:]
    private var older: [ExactText: PendingHits] = [:]
    var isEmpty: Bool { younger.isEmpty && older.isEmpty && slid.isEmpty && marked.isEmpty }
    var slideCount: Int { slid.count + marked.count }
    var markedCount: Int { marked.count }

    mutating func markSlides() {
        if marked.isEmpty {
            swap(&marked, &slid)
        } else {
            // A key is in one table at most, so no entry is overwritten.
            for (key, pending) in slid { marked[key] = pending }
            slid = [:]
        }
    }

    subscript(key: ExactText) -> PendingHits? {
        younger[key] ?? older[key] ?? slid[key] ?? marked[key]
    }

    /// Adds later hits or a later expiry date of a key.
    mutating func add(_ hits: PendingHits, for key: ExactText) -> Forgotten {
        if hits.slide == nil {
            if slideCount == 0 { return addHits(hits, for: key) }
            if younger[key]?.merge(hits) != nil { return [:] }
        }
        if !marked.isEmpty, marked[key]?.merge(hits) != nil { return [:] }
        var sum = remove(key)
        if sum?.merge(hits) == nil { sum = hits }
        return insert(sum ?? hits, for: key)
    }

    /// Adds earlier hits or an earlier expiry date of a key.
    mutating func putBack(_ hits: PendingHits, for key: ExactText) -> Forgotten {
        var sum = hits
        if let later = remove(key) { sum.merge(later) }
        if sum.slide == nil { return insert(sum, for: key) }
        // Marked, because the operation that marked the expiry date may still wait until it is written.
        marked[key] = sum
        return [:]
    }

    mutating func remove(_ key: ExactText) -> PendingHits? {
        Self.remove(key, &younger) ?? Self.remove(key, &older) ?? Self.remove(key, &slid) ?? Self.remove(key, &marked)
    }

    /// Skips the hashing for an empty table, because most tables are empty when a hit is noted.
    private static func remove(_ key: ExactText, _ table: inout [ExactText: PendingHits]) -> PendingHits? {
        table.isEmpty ? nil : table.removeValue(forKey: key)
    }

    /// The keys with a renewed expiry date. Marked keys come first. `onlyMarked` leaves out the other keys.
    func slidKeys(limit: Int, onlyMarked: Bool) -> [ExactText] {
        let keys = Array(marked.keys.prefix(limit))
        return onlyMarked ? keys : keys + Array(slid.keys.prefix(limit - keys.count))
    }

    /// The keys without a renewed expiry date. The older generation comes first, because it is forgotten first.
    func hitKeys(limit: Int) -> [ExactText] {
        let keys = Array(older.keys.prefix(limit))
        return keys + Array(younger.keys.prefix(limit - keys.count))
    }

    /// Adds hits without an expiry date, with as little hashing as possible, because most calls are of this kind.
    private mutating func addHits(_ hits: PendingHits, for key: ExactText) -> Forgotten {
        let count = younger.count
        younger[key, default: PendingHits(version: hits.version)].merge(hits)
        guard younger.count > count else { return [:] }
        if var sum = Self.remove(key, &older) {
            sum.merge(hits)
            younger[key] = sum
        }
        return forgetOlder()
    }

    private mutating func insert(_ hits: PendingHits, for key: ExactText) -> Forgotten {
        guard hits.slide == nil else {
            slid[key] = hits
            return [:]
        }
        younger[key] = hits
        return forgetOlder()
    }

    private mutating func forgetOlder() -> Forgotten {
        guard younger.count >= Self.generationLimit else { return [:] }
        return exchange(&older, with: exchange(&younger, with: Dictionary(minimumCapacity: Self.generationLimit)))
    }
}

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
    /// Keys in the order of `turn`, which counts the appends. Elements of removed entries stay until ``removeGone()``.
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
        // Runs only when most elements belong to removed entries, so that the cost of each call is constant on average.
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
