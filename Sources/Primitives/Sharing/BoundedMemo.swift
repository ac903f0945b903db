/// A memo of computed values by key, with a limit on their number. When a new value exceeds the limit, the memo forgets
/// all values, and the caller computes each again when it needs it. Recomputing is cheap, and the memo needs no record
/// of when each key was used.
///
/// The type has no lock; its owner adds the lock.
public struct BoundedMemo<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    @usableFromInline let limit: Int
    @usableFromInline var values: [Key: Value] = [:]

    /// - Parameter limit: the greatest number of values, at least 1.
    @inlinable
    public init(limit: Int) {
        self.limit = limit
    }

    @inlinable public var count: Int { values.count }

    /// The remembered value of a key; `nil` when the memo has none.
    @inlinable
    public subscript(key: Key) -> Value? { values[key] }

    /// Remembers a value and replaces an older value of the same key.
    ///
    /// - Returns: the values that were forgotten to make room. A caller that holds a lock releases the lock before it
    ///   releases these values, because there can be many of them.
    @inlinable
    public mutating func remember(_ value: Value, for key: Key) -> [Key: Value] {
        var forgotten: [Key: Value] = [:]
        if values[key] == nil, values.count == limit { swap(&forgotten, &values) }
        values[key] = value
        return forgotten
    }
}
