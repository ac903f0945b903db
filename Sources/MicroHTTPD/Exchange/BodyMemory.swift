import Synchronization

/// What the bodies that are collected in memory hold together, against a limit: each alone may be within its own, and
/// there may be as many as there are connections.
final class BodyMemory: Sendable {
    /// What one body holds of it, until this object goes.
    final class Share {
        private let memory: BodyMemory
        private var byteCount = 0

        init(_ memory: BodyMemory) {
            self.memory = memory
        }

        deinit {
            release()
        }

        /// Takes bytes more. False, and nothing taken, when that would be too much.
        func take(_ count: Int) -> Bool {
            guard memory.held.add(count, ordering: .relaxed).newValue <= memory.limit else {
                memory.held.subtract(count, ordering: .relaxed)
                return false
            }
            byteCount += count
            return true
        }

        /// Gives everything back.
        func release() {
            memory.held.subtract(byteCount, ordering: .relaxed)
            byteCount = 0
        }
    }

    private let limit: Int
    private let held = Atomic<Int>(0)

    /// - Parameter limit: in bytes.
    init(limit: Int) {
        self.limit = limit
    }
}
