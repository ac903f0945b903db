/// The content of a ``MemoryTier`` and its counters since the start.
public struct MemoryStatistics: Hashable, Sendable {
    /// The number of values.
    public var count = 0
    /// The total cost of the values in bytes.
    public var bytes = 0
    /// The number of look-ups that found a value.
    public var hits: UInt64 = 0
    /// The number of look-ups that found no value. A value that was read past the tier counts, too.
    public var misses: UInt64 = 0
    /// The number of values that were evicted to make room.
    public var evictions: UInt64 = 0

    /// An empty tier: all numbers are 0.
    public init() {}

    /// Adds the numbers of another tier.
    public mutating func add(_ other: MemoryStatistics) {
        count += other.count
        bytes += other.bytes
        hits += other.hits
        misses += other.misses
        evictions += other.evictions
    }
}
