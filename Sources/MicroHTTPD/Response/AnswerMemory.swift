import Synchronization

/// What the bodies of answers hold in memory on their way, together, beyond ``small`` each: against a limit that all of
/// them share, because there may be as many answers as there are connections, and each waits for its client.
///
/// An answer that gets no ``Share`` goes out in smaller pieces, which is slower, and never fails.
final class AnswerMemory: Sendable {
    /// Bytes taken of it, until this object goes.
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

    /// What libmicrohttpd has in one piece of memory with a block, at most. With it a block still fits into one of the
    /// sizes in which jemalloc gives out memory.
    private static let overhead = 512
    /// How many bytes of a body an answer has in memory without a share, at most.
    static let small = (8 << 10) - overhead
    /// How many bytes of a body are read and sent at once with a share: more is not faster.
    static let large = (64 << 10) - overhead

    private let limit: Int
    private let held = Atomic<Int>(0)

    /// - Parameter limit: in bytes.
    init(limit: Int) {
        self.limit = limit
    }

    /// Takes bytes; `nil` when there are not so many left.
    func take(_ count: Int) -> Share? {
        guard held.add(count, ordering: .relaxed).newValue <= limit else {
            held.subtract(count, ordering: .relaxed)
            return nil
        }
        return Share(self, count)
    }

    /// How many bytes of a body to send at once, and the share that they need.
    func block() -> (count: Int, share: Share?) {
        let share = take(Self.large)
        return (share == nil ? Self.small : Self.large, share)
    }
}
