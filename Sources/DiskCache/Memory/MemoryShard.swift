import Primitives

/// The part of a ``MemoryTier`` that one lock guards: a table, the order of eviction, and counters. No locks in it.
///
/// Whatever leaves the table is returned, so that the owner can drop it after the lock was released.
struct MemoryShard<Value: Sendable, Policy: EvictionPolicy>: Sendable where Policy.Key == ExactText {
    struct Item: Sendable {
        var value: Value
        var cost: Int
        var slot: Policy.Slot
    }

    private var items: [ExactText: Item] = [:]
    private var policy = Policy()
    /// The sum of the items' costs.
    private(set) var bytes = 0
    /// How often something was invalidated; see ``MemoryTicket``.
    private(set) var invalidations: UInt64 = 0
    private(set) var hits: UInt64 = 0
    private(set) var misses: UInt64 = 0
    private(set) var evictions: UInt64 = 0

    var count: Int { items.count }

    mutating func value(for key: ExactText) -> Value? {
        guard let item = items[key] else {
            misses += 1
            return nil
        }
        hits += 1
        policy.hit(item.slot)
        return item.value
    }

    /// Puts a value in, and returns the one that it replaces.
    mutating func insert(_ value: Value, for key: ExactText, cost: Int) -> Item? {
        let replaced = take(key)
        items[key] = Item(value: value, cost: cost, slot: policy.insert(key, cost: cost))
        bytes += cost
        return replaced
    }

    /// Changes the value of a key where it is, and refuses older tickets. It does not count as a hit.
    mutating func update(_ key: ExactText, _ change: (inout Value) -> Void) {
        invalidations += 1
        guard var item = items[key] else { return }
        change(&item.value)
        items[key] = item
    }

    /// Takes out the value of a key and refuses older tickets.
    mutating func invalidate(_ key: ExactText) -> Item? {
        invalidations += 1
        return take(key)
    }

    /// Takes out everything and refuses older tickets.
    mutating func invalidateAll() -> (items: [ExactText: Item], bytes: Int) {
        invalidations += 1
        let all = (items, bytes)
        items = [:]
        policy = Policy()
        bytes = 0
        return all
    }

    /// Takes out what should go next; `nil` when there is nothing.
    mutating func evict() -> Item? {
        guard let key = policy.victim(), let item = items.removeValue(forKey: key) else { return nil }
        bytes -= item.cost
        evictions += 1
        return item
    }

    private mutating func take(_ key: ExactText) -> Item? {
        guard let item = items.removeValue(forKey: key) else { return nil }
        policy.remove(item.slot)
        bytes -= item.cost
        return item
    }
}
