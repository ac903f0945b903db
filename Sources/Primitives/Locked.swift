#if LARDER_PTHREAD_LOCKS
    import Foundation
#else
    import Synchronization
#endif

/// A value that can only be touched while a lock is held.
///
/// Change the state inside ``withLock(_:)`` and act on it (call back, do I/O, resume somebody) after it returned: the
/// lock is not recursive, and nothing that runs under it may wait.
///
/// It is a `Mutex` of the standard library. Compiled with `-D LARDER_PTHREAD_LOCKS` it is a pthread mutex, because
/// ThreadSanitizer does not see through `Mutex`'s futex and reports correct code.
public struct Locked<State>: ~Copyable, Sendable {
    #if LARDER_PTHREAD_LOCKS
        @usableFromInline let storage: PthreadLocked<State>

        /// A lock around `state`.
        public init(_ state: consuming sending State) {
            storage = PthreadLocked(state)
        }

        /// Runs `body` with the state while the lock is held, and returns what it returns; rethrows what it throws.
        @inlinable
        public func withLock<Result: ~Copyable, Failure: Error>(
            _ body: (inout sending State) throws(Failure) -> sending Result
        ) throws(Failure) -> sending Result {
            try storage.withLock(body)
        }
    #else
        @usableFromInline let mutex: Mutex<State>

        /// A lock around `state`.
        @inlinable
        public init(_ state: consuming sending State) {
            mutex = Mutex(state)
        }

        /// Runs `body` with the state while the lock is held, and returns what it returns; rethrows what it throws.
        @inlinable
        public borrowing func withLock<Result: ~Copyable, Failure: Error>(
            _ body: (inout sending State) throws(Failure) -> sending Result
        ) throws(Failure) -> sending Result {
            try mutex.withLock(body)
        }
    #endif
}

#if LARDER_PTHREAD_LOCKS
    /// Sendable because the state is reached only between `pthread_mutex_lock` and `pthread_mutex_unlock`.
    @usableFromInline final class PthreadLocked<State>: @unchecked Sendable {
        private let mutex: UnsafeMutablePointer<pthread_mutex_t>
        private var state: State

        init(_ state: State) {
            mutex = .allocate(capacity: 1)
            pthread_mutex_init(mutex, nil)
            self.state = state
        }

        deinit {
            pthread_mutex_destroy(mutex)
            mutex.deallocate()
        }

        @usableFromInline
        func withLock<Result: ~Copyable, Failure: Error>(
            _ body: (inout sending State) throws(Failure) -> sending Result
        ) throws(Failure) -> sending Result {
            pthread_mutex_lock(mutex)
            defer { pthread_mutex_unlock(mutex) }
            return try body(&state)
        }
    }
#endif
