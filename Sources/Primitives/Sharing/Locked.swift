#if LARDER_PTHREAD_LOCKS
    import Foundation
#else
    import Synchronization
#endif

/// A value that code can reach only while it holds the lock.
///
/// Change the state inside ``withLock(_:)`` and act on the change (call back, do I/O, resume a task) after it returns,
/// because the lock is not recursive, and code that holds it must not wait.
///
/// The lock is a `Mutex` of the standard library. With `-D LARDER_PTHREAD_LOCKS` it is a pthread mutex, because
/// ThreadSanitizer does not recognise the futex in `Mutex` and reports correct code.
public struct Locked<State>: ~Copyable, Sendable {
    #if LARDER_PTHREAD_LOCKS
        @usableFromInline let storage: PthreadLocked<State>

        /// Protects `state` with a lock.
        public init(_ state: consuming sending State) {
            storage = PthreadLocked(state)
        }

        /// Runs `body` with the state while holding the lock, and returns its result; rethrows its error.
        @inlinable
        public func withLock<Result: ~Copyable, Failure: Error>(
            _ body: (inout sending State) throws(Failure) -> sending Result
        ) throws(Failure) -> sending Result {
            try storage.withLock(body)
        }
    #else
        @usableFromInline let mutex: Mutex<State>

        /// Protects `state` with a lock.
        @inlinable
        public init(_ state: consuming sending State) {
            mutex = Mutex(state)
        }

        /// Runs `body` with the state while holding the lock, and returns its result; rethrows its error.
        @inlinable
        public borrowing func withLock<Result: ~Copyable, Failure: Error>(
            _ body: (inout sending State) throws(Failure) -> sending Result
        ) throws(Failure) -> sending Result {
            try mutex.withLock(body)
        }
    #endif
}

#if LARDER_PTHREAD_LOCKS
    /// `@unchecked Sendable` is safe because code reaches the state only between `pthread_mutex_lock` and
    /// `pthread_mutex_unlock`.
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
