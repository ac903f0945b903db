import Primitives
import Synchronization

/// A part of a ``MemoryTier``, guarded by a lock of the tier: a table, the eviction queues, and counters. Methods
/// return the values that leave the table, so that the owner can drop them after the lock was released.
struct MemoryShard<Value: Sendable>: Sendable {
    struct Item: Sendable {
        var value: Value
        var cost: Int
        /// The node in the queues, so that a hit needs no second look-up.
        var id: MemoryQueues.ID
    }

    private var items: [ExactText: Item] = [:]
    private var queues = MemoryQueues()
    private var policy = S3FIFOPolicy()
    private(set) var invalidations: UInt64 = 0
    private var counters = MemoryStatistics()

    var statistics: MemoryStatistics {
        var statistics = counters
        (statistics.count, statistics.bytes) = (items.count, Int(queues.totals.bytes))
        return statistics
    }

    mutating func value(for key: ExactText) -> Value? {
        guard let item = items[key] else {
            counters.misses += 1
            return nil
        }
        counters.hits += 1
        queues.hit(item.id)
        return item.value
    }

    func peek(_ key: ExactText) -> Value? { items[key]?.value }

    /// Answers ``MemoryTier/way(of:cost:)`` when the tier is full.
    func way(of key: ExactText, canKeep: Bool) -> MemoryWay {
        if items[key] != nil { return .in }
        return canKeep && policy.isKnown(hash: key.hashValue) ? .pastAndIn : .past
    }

    mutating func hasPassed(_ key: ExactText, remembered: Bool) {
        counters.misses += 1
        if remembered { policy.remember(hash: key.hashValue, totals: queues.totals) }
    }

    mutating func insert(_ value: Value, for key: ExactText, cost: Int, tally: HitCounter?) -> Item? {
        let replaced = items[key]
        let id: MemoryQueues.ID
        if let replaced {
            id = replaced.id
            queues.setCost(cost, of: id)
            queues.setTally(tally, of: id)
        } else {
            let place = policy.place(hash: key.hashValue, cost: Int64(cost), among: queues.totals)
            id = queues.insert(key, cost: cost, at: place, tally: tally)
        }
        items[key] = Item(value: value, cost: cost, id: id)
        return replaced
    }

    mutating func charge(_ cost: Int, to key: ExactText) -> Bool {
        guard var item = items[key] else { return false }
        item.cost += cost
        queues.setCost(item.cost, of: item.id)
        items[key] = item
        return true
    }

    /// Changes a value in place, and makes all older tickets void. Does not count as a hit.
    mutating func update(_ key: ExactText, _ change: (inout Value) -> Void) {
        invalidations += 1
        guard var item = items[key] else { return }
        change(&item.value)
        items[key] = item
    }

    /// Removes the value of a key, and makes all older tickets void.
    mutating func invalidate(_ key: ExactText) -> Item? {
        invalidations += 1
        guard let item = items.removeValue(forKey: key) else { return nil }
        let totals = queues.totals
        let place = queues.remove(item.id)
        policy.remember(hash: key.hashValue, place: place, totals: totals)
        return item
    }

    /// Removes all values, and makes all older tickets void.
    mutating func invalidateAll() -> [ExactText: Item] {
        invalidations += 1
        defer { (items, queues, policy) = ([:], MemoryQueues(), S3FIFOPolicy()) }
        return items
    }

    mutating func evict() -> Item? {
        guard let victim = policy.victim(of: &queues, sparesNewest: false), let key = queues.key(of: victim.id)
        else { return nil }
        queues.remove(victim.id)
        guard let item = items.removeValue(forKey: key) else { return nil }
        counters.evictions += 1
        return item
    }
}

/// The way to read a requested value, in the present state of its memory tier.
enum MemoryWay: Sendable {
    /// The value is in the tier, or there is room for it.
    case `in`
    /// Past the tier: the value would displace other values, and was not requested a short time before.
    case past
    /// Past the tier, and then into it: the value was requested a short time before, so it may displace other values.
    case pastAndIn
}

/// The content of a ``MemoryTier`` and its counters since the start.
package struct MemoryStatistics: Hashable, Sendable {
    package var count = 0
    package var bytes = 0
    package var hits: UInt64 = 0
    /// Look-ups that found no value. A value that was read past the tier counts, too.
    package var misses: UInt64 = 0
    package var evictions: UInt64 = 0

    package init() {}

    package mutating func add(_ other: MemoryStatistics) {
        count += other.count
        bytes += other.bytes
        hits += other.hits
        misses += other.misses
        evictions += other.evictions
    }
}

/// Detects changes of data since it was read. A change increments the counter of the data's name; a reader takes a mark
/// before it reads. Names share the 4,096 counters, so a reader may read once more without need.
final class ChangeCounters: Sendable {
    private let numbers = (0..<4096).map { _ in ChangeNumber() }

    func change(_ name: String) {
        number(name).value.add(1, ordering: .releasing)
    }

    func mark(_ name: String) -> ChangeMark {
        let number = number(name)
        return ChangeMark(number: number, value: number.value.load(ordering: .acquiring))
    }

    private func number(_ name: String) -> ChangeNumber {
        numbers[Int(UInt(bitPattern: name.hashValue) % UInt(numbers.count))]
    }
}

package struct ChangeMark: Sendable {
    fileprivate let number: ChangeNumber
    fileprivate let value: Int

    /// Whether the data is unchanged since the mark was taken. The cost is a single atomic load.
    package var isCurrent: Bool { number.value.load(ordering: .acquiring) == value }
    package var memory: MemoryHint { MemoryHint(number, length: 24) }
}

/// A class, because an atomic cannot be copied and so cannot be an element of an array.
private final class ChangeNumber: Sendable {
    let value = Atomic<Int>(0)
}
