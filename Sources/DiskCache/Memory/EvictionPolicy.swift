/// Decides what goes when room is needed: a plain data structure without locks, which its owner guards.
///
/// It knows keys and costs, never values. What was inserted is known by its ``Slot`` from then on, so that a hit costs
/// no second look-up by key.
protocol EvictionPolicy: Sendable {
    /// What is inserted.
    associatedtype Key: Hashable & Sendable

    /// The number by which the policy knows what was inserted. It is used again after a ``remove(_:)`` or when it was
    /// the ``victim()``.
    typealias Slot = Int

    /// A policy that knows nothing yet.
    init()

    /// Adds a key that is not in it.
    mutating func insert(_ key: Key, cost: Int) -> Slot

    /// The key was asked for, and found.
    mutating func hit(_ slot: Slot)

    /// The key is gone for another reason than eviction.
    mutating func remove(_ slot: Slot)

    /// Chooses what should go next, forgets it and returns it; `nil` when the policy is empty.
    mutating func victim() -> Key?
}
