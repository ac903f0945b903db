import MicroHTTPD
import Primitives

/// Answers by the target that they are for, split into shards so that threads seldom meet.
///
/// How many there can be is limited by the memory tier, where each counts.
final class ReadyTable: Sendable {
    private final class LockedShard: Sendable {
        let state = Locked(ReadyShard())
    }

    private let shards = (0..<16).map { _ in LockedShard() }

    /// Has fetched what will be read for a target, when it is asked for in this namespace.
    ///
    /// - Returns: the target's hash.
    func expect(_ target: UnsafeRawBufferPointer, namespace: Int) -> Int {
        let target = ReadyAnswer.hash(target)
        let hash = ReadyAnswer.hash(target, in: namespace)
        _ = shard(hash).state.withLock { $0.prefetch(hash) }
        return target
    }

    /// Runs `use` with the answer to a request, right or no longer, under the lock; `nil` when there is none. Nothing
    /// is made, and no reference counted.
    ///
    /// - Parameter head: of a request whose target was expected.
    func find<Result: Sendable>(
        _ head: borrowing RawHead, _ wish: ReadyWish, _ use: (ReadyAnswer) -> Result
    ) -> Result? {
        let hash = ReadyAnswer.hash(head.expectation, in: wish.namespace)
        return shard(hash).state.withLock { $0.find(hash, head, wish, use) }
    }

    /// Puts an answer in, in place of one to the same requests.
    func insert(_ answer: ReadyAnswer) {
        let requests = answer.requests
        let memory = ReadyMemory(of: answer)
        // Freed after the lock is released.
        _ = shard(requests.hash).state.withLock { shard in
            let replaced = shard.remove(requests.hash) { $0.requests == requests }
            shard.insert(answer, memory)
            return replaced
        }
    }

    /// Puts an answer in the place of one that is there; if that was taken out meanwhile it does nothing, for nobody
    /// would take out the other.
    func replace(_ old: ReadyAnswer, by answer: ReadyAnswer) {
        let hash = old.requests.hash
        let memory = ReadyMemory(of: answer)
        _ = shard(hash).state.withLock { shard in
            let replaced = shard.remove(hash) { $0 === old }
            if replaced != nil { shard.insert(answer, memory) }
            return replaced
        }
    }

    /// Takes out the answer to these requests if it was made of that entry.
    func remove(_ requests: ReadyAnswer.Requests, madeOf entry: ObjectIdentifier) {
        _ = shard(requests.hash).state.withLock { shard in
            shard.remove(requests.hash) {
                ObjectIdentifier($0.validity.entry.entry) == entry && $0.requests == requests
            }
        }
    }

    /// How many there are.
    var count: Int { shards.reduce(0) { $0 + $1.state.withLock { $0.count } } }

    private func shard(_ hash: Int) -> LockedShard {
        shards[hash & 15]
    }
}
