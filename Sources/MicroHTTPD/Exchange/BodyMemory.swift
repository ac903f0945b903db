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
            // Who needs little gets it although others have much.
            let limit = byteCount + count > BodyMemory.smallLimit ? memory.limit / 4 * 3 : memory.limit
            guard memory.held.add(count, ordering: .relaxed).newValue <= limit else {
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

    /// A quarter of all is for bodies that are no longer than this.
    private static let smallLimit = 64 << 10

    private let limit: Int
    private let held = Atomic<Int>(0)

    /// - Parameter limit: in bytes.
    init(limit: Int) {
        self.limit = limit
    }
}
