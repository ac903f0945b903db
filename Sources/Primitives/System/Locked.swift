#if LARDER_PTHREAD_LOCKS
    import Foundation

    @usableFromInline typealias Lock<State> = PthreadMutex<State>
#else
    import Synchronization

    @usableFromInline typealias Lock<State> = Mutex<State>
#endif

/// A value that code can reach only while it holds the lock. Change the value inside ``withLock(_:)``. Act on the
/// change (call back, do I/O, resume a task) after ``withLock(_:)`` has returned, because the lock is not recursive,
/// and code that holds it must not wait.
///
/// The lock is a `Mutex` of the standard library. With `-D LARDER_PTHREAD_LOCKS` it is a pthread mutex, because
/// ThreadSanitizer does not recognise the futex in `Mutex` and reports correct code.
public struct Locked<State>: ~Copyable, Sendable {
    @usableFromInline let lock: Lock<State>

    @inlinable
    public init(_ state: consuming sending State) {
        lock = Lock(state)
    }

    /// Runs `body` with the state while holding the lock, and returns its result; rethrows its error.
    @inlinable
    public borrowing func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending State) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        try lock.withLock(body)
    }
}

/// A state that is split into shards, each with a lock, so that threads with different keys seldom share a lock.
public struct Sharded<State>: Sendable {
    /// A class, because a lock cannot be copied and so cannot be an element of an array.
    public final class Shard: Sendable {
        @usableFromInline let state: Locked<State>

        @usableFromInline
        init(_ state: consuming sending State) {
            self.state = Locked(state)
        }

        /// Like ``Locked/withLock(_:)``, with the state of the shard.
        @inlinable @inline(__always)
        public func withLock<Result: ~Copyable, Failure: Error>(
            _ body: (inout sending State) throws(Failure) -> sending Result
        ) throws(Failure) -> sending Result {
            try state.withLock(body)
        }
    }

    public let all: [Shard]

    /// `count` is rounded down to a power of two, at least 1.
    public init(count: Int = 16, _ state: () -> sending State) {
        let power = Int.bitWidth - 1 - max(1, count).leadingZeroBitCount
        all = (0..<1 << power).map { _ in Shard(state()) }
    }

    /// The lowest bits of the hash choose the shard.
    @inlinable public subscript(hash: Int) -> Shard { all[hash & (all.count &- 1)] }

    /// Adds the results of `value` for all shards, one after another. Other threads may change the shards in between.
    @inlinable
    public func sum<Number: AdditiveArithmetic & Sendable>(_ value: (inout State) -> Number) -> Number {
        all.reduce(.zero) { sum, shard in sum + shard.withLock { value(&$0) } }
    }
}

#if LARDER_PTHREAD_LOCKS
    /// `@unchecked Sendable` is safe because code reaches the state only while it holds the mutex.
    @usableFromInline final class PthreadMutex<State>: @unchecked Sendable {
        /// A pthread mutex on Linux.
        private let mutex = NSLock()
        private var state: State

        @usableFromInline
        init(_ state: consuming sending State) {
            self.state = state
        }

        @usableFromInline
        func withLock<Result: ~Copyable, Failure: Error>(
            _ body: (inout sending State) throws(Failure) -> sending Result
        ) throws(Failure) -> sending Result {
            mutex.lock()
            defer { mutex.unlock() }
            return try body(&state)
        }
    }
#endif
