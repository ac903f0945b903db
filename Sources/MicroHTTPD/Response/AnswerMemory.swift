import Synchronization

/// The memory of all answers' bodies on their way to clients, beyond ``small`` bytes each. There may be as many answers
/// as connections. An answer that gets no ``Share`` goes out in smaller pieces, which is slower and never fails.
final class AnswerMemory: Sendable {
    /// Bytes that stay taken from the memory until this object is released.
    final class Share: Sendable {
        private let memory: AnswerMemory
        private let count: Int

        fileprivate init(_ memory: AnswerMemory, _ count: Int) {
            self.memory = memory
            self.count = count
        }

        deinit {
            memory.held.subtract(count, ordering: .relaxed)
        }
    }

    /// The most bytes that libmicrohttpd allocates with a block; both together fit a size class of jemalloc.
    private static let overhead = 512
    /// The most bytes of a body that an answer without a share has in memory.
    static let small = (8 << 10) - overhead
    /// The most bytes that the queue of a stream without a share holds; the block after the queue has as many.
    static let queued = (4 << 10) - overhead
    /// The bytes of a body that are read and sent at once with a share; more is not faster.
    static let large = (64 << 10) - overhead
    private let limit: Int
    private let held = Atomic<Int>(0)

    /// In bytes, for all answers together.
    init(limit: Int) {
        self.limit = limit
    }

    /// Takes bytes from the memory; `nil` if fewer are left.
    func take(_ count: Int) -> Share? {
        guard held.add(count, ordering: .relaxed).newValue <= limit else {
            held.subtract(count, ordering: .relaxed)
            return nil
        }
        return Share(self, count)
    }

    /// The size of a block, and its share, if any. `isQueued`: another ``queued`` bytes precede the block in a queue.
    func block(isQueued: Bool = false) -> (count: Int, share: Share?) {
        let share = take(Self.large)
        return (share != nil ? Self.large : isQueued ? Self.queued : Self.small, share)
    }
}
