/// A memo of computed values by key, with a limit on their total cost. When a new value exceeds the limit, the memo
/// forgets all values, and the caller computes each again when it needs it. Recomputing is cheap, and the memo needs no
/// record of when each key was used.
///
/// The type has no lock; its owner adds the lock.
package struct BoundedMemo<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    /// The forgotten values. A caller that holds a lock releases the lock before it releases these values, because
    /// there can be many of them.
    package typealias Forgotten = [Key: Remembered]

    /// A value and its cost.
    package struct Remembered: Sendable {
        @usableFromInline let value: Value
        @usableFromInline let cost: Int

        @inlinable
        init(value: Value, cost: Int) {
            (self.value, self.cost) = (value, cost)
        }
    }

    /// The limit on the total cost of all values.
    @usableFromInline let limit: Int
    @usableFromInline var values: [Key: Remembered] = [:]
    @usableFromInline var cost = 0

    /// An empty memo.
    ///
    /// - Parameter limit: the limit on the total cost of all values.
    @inlinable
    package init(limit: Int) {
        self.limit = limit
    }

    /// The number of remembered values.
    @inlinable package var count: Int { values.count }

    /// The remembered value of a key; `nil` when the memo has none.
    @inlinable
    package subscript(key: Key) -> Value? { values[key]?.value }

    /// Remembers a value and replaces an older value of the same key. A value that costs more than the limit is not
    /// remembered.
    ///
    /// - Parameter cost: the cost of the value, in the unit of the limit; 1 by default, which makes the limit a number
    ///   of values.
    /// - Returns: the values that were forgotten to make room.
    @inlinable
    package mutating func remember(_ value: Value, for key: Key, cost: Int = 1) -> Forgotten {
        var forgotten: Forgotten = [:]
        if self.cost - (values[key]?.cost ?? 0) + cost > limit {
            swap(&forgotten, &values)
            self.cost = 0
        }
        guard cost <= limit else { return forgotten }
        let old = values.updateValue(Remembered(value: value, cost: cost), forKey: key)
        self.cost += cost - (old?.cost ?? 0)
        return forgotten
    }
}
