/// What was worked out of keys before, up to a limit; then all of it is forgotten, and worked out again as it is asked
/// for. That costs little, and nothing has to be kept of who was asked for when.
///
/// It has no lock, which is its owner's to add.
public struct BoundedMemo<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    /// What had to be forgotten. Who holds a lock lets go of it after that was released: it may be much.
    public typealias Forgotten = [Key: Remembered]

    /// A value and what it counts.
    public struct Remembered: Sendable {
        @usableFromInline let value: Value
        @usableFromInline let cost: Int

        @inlinable
        init(value: Value, cost: Int) {
            (self.value, self.cost) = (value, cost)
        }
    }

    /// What all values together may cost.
    @usableFromInline let limit: Int
    @usableFromInline var values: [Key: Remembered] = [:]
    @usableFromInline var cost = 0

    /// An empty one.
    ///
    /// - Parameter limit: what all values together may cost.
    @inlinable
    public init(limit: Int) {
        self.limit = limit
    }

    /// How many values are remembered.
    @inlinable public var count: Int { values.count }

    /// What is remembered of a key; `nil` when nothing is.
    @inlinable
    public subscript(key: Key) -> Value? { values[key]?.value }

    /// Remembers a value, in place of an older one of that key. What costs more than the limit is not remembered.
    ///
    /// - Parameter cost: what it counts, in the unit of the limit; 1 by default, which makes the limit a number of
    ///   values.
    /// - Returns: what was forgotten to make room.
    @inlinable
    public mutating func remember(_ value: Value, for key: Key, cost: Int = 1) -> Forgotten {
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
