/// What a ``MemoryTier`` holds and what it did.
public struct MemoryStatistics: Hashable, Sendable {
    /// How many values there are.
    public var count = 0
    /// What they cost, in bytes.
    public var bytes = 0
    /// How often a value was found.
    public var hits: UInt64 = 0
    /// How often none was.
    public var misses: UInt64 = 0
    /// How many values had to go for room.
    public var evictions: UInt64 = 0

    /// Nothing held, nothing done.
    public init() {}

    /// Adds what another tier holds and did.
    public mutating func add(_ other: MemoryStatistics) {
        count += other.count
        bytes += other.bytes
        hits += other.hits
        misses += other.misses
        evictions += other.evictions
    }
}
