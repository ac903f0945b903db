/// A state that is split into shards with a lock each, so that threads with different keys seldom wait for one lock.
public struct Sharded<State>: Sendable {
    /// A shard: a class, because a lock cannot be copied and so cannot be an element of an array.
    public final class Shard: Sendable {
        @usableFromInline let state: Locked<State>

        @usableFromInline
        init(_ state: consuming sending State) {
            self.state = Locked(state)
        }

        /// Runs `body` with the state of the shard while holding its lock, and returns its result; rethrows its error.
        @inlinable @inline(__always)
        public func withLock<Result: ~Copyable, Failure: Error>(
            _ body: (inout sending State) throws(Failure) -> sending Result
        ) throws(Failure) -> sending Result {
            try state.withLock(body)
        }
    }

    public let all: [Shard]

    /// Creates the shards.
    ///
    /// - Parameters:
    ///   - count: the number of shards; 16 by default. Rounded down to a power of two, at least 1.
    ///   - state: makes the state of a shard.
    public init(count: Int = 16, _ state: () -> sending State) {
        let power = Int.bitWidth - 1 - max(1, count).leadingZeroBitCount
        all = (0..<1 << power).map { _ in Shard(state()) }
    }

    /// The shard of the keys with a hash, which the lowest bits of the hash choose.
    @inlinable public subscript(hash: Int) -> Shard { all[hash & (all.count &- 1)] }

    /// Runs `value` with each shard in turn under its lock, and returns the sum of the results. Other threads may
    /// change the earlier shards meanwhile.
    @inlinable
    public func sum<Number: AdditiveArithmetic & Sendable>(_ value: (inout State) -> Number) -> Number {
        all.reduce(.zero) { sum, shard in sum + shard.withLock { value(&$0) } }
    }
}
