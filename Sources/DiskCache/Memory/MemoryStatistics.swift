/// The content of a ``MemoryTier`` and its counters since the start.
package struct MemoryStatistics: Hashable, Sendable {
    /// The number of values.
    package var count = 0
    /// The total cost of the values in bytes.
    package var bytes = 0
    /// The number of look-ups that found a value.
    package var hits: UInt64 = 0
    /// The number of look-ups that found no value. A value that was read past the tier counts, too.
    package var misses: UInt64 = 0
    /// The number of values that were evicted to make room.
    package var evictions: UInt64 = 0

    /// An empty tier: all numbers are 0.
    package init() {}

    /// Adds the numbers of another tier.
    package mutating func add(_ other: MemoryStatistics) {
        count += other.count
        bytes += other.bytes
        hits += other.hits
        misses += other.misses
        evictions += other.evictions
    }
}
