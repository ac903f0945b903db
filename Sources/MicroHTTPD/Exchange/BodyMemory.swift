import Synchronization

/// The memory of all request bodies that are collected in memory. Its limit is common because each body may stay within
/// its own limit while there are as many bodies as connections.
final class BodyMemory: Sendable {
    /// The bytes of one body. They are released with this object at the latest.
    final class Share {
        private let memory: BodyMemory
        private var byteCount = 0

        init(_ memory: BodyMemory) {
            self.memory = memory
        }

        deinit {
            release()
        }

        /// Returns false, without effect, if the limit would be exceeded.
        func take(_ count: Int) -> Bool {
            // Bodies above the small limit may take three quarters only, so that small bodies find memory.
            let limit = byteCount + count > BodyMemory.smallLimit ? memory.limit / 4 * 3 : memory.limit
            guard memory.held.add(count, ordering: .relaxed).newValue <= limit else {
                memory.held.subtract(count, ordering: .relaxed)
                return false
            }
            byteCount += count
            return true
        }

        func release() {
            memory.held.subtract(byteCount, ordering: .relaxed)
            byteCount = 0
        }
    }

    /// In bytes. Up to this size a body may use the last quarter of the memory.
    private static let smallLimit = 64 << 10

    private let limit: Int
    private let held = Atomic<Int>(0)

    /// In bytes, for all bodies together.
    init(limit: Int) {
        self.limit = limit
    }
}
