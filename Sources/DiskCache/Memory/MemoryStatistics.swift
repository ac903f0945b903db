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
