import MicroHTTPD
import Primitives

/// The answers at hand, found by their targets. The table is split into shards so that threads rarely wait for the same
/// lock. The memory tier limits the number of answers, because their memory counts there.
final class ReadyTable: Sendable {
    private let shards = Sharded { ReadyShard() }

    /// Prefetches the memory of the answers to a target in this namespace. Returns the hash of the target alone.
    func expect(_ target: UnsafeRawBufferPointer, namespace: Int) -> Int {
        let target = ReadyAnswer.hash(target)
        let hash = ReadyAnswer.hash(target, in: namespace)
        _ = shards[hash].withLock { $0.prefetch(hash) }
        return target
    }

    /// Calls `use` under the lock with the answer to a request, valid or outdated. The look-up allocates no memory and
    /// counts no references. ``expect(_:namespace:)`` was called for the target of the head.
    func find<Result: Sendable>(
        _ head: borrowing RawHead, _ wish: ReadyWish, _ use: (ReadyAnswer) -> Result
    ) -> Result? {
        let hash = ReadyAnswer.hash(head.expectation, in: wish.namespace)
        return shards[hash].withLock { $0.find(hash, head, wish, use) }
    }

    func insert(_ answer: ReadyAnswer) {
        let requests = answer.requests
        let memory = ReadyMemory(of: answer)
        // The replaced answer is freed after the lock is released.
        _ = shards[requests.hash].withLock { shard in
            let replaced = shard.remove(requests.hash) { $0.requests == requests }
            shard.insert(answer, memory)
            return replaced
        }
    }

    /// Has no effect if the old answer has been removed meanwhile, because no later step would remove the new answer.
    func replace(_ old: ReadyAnswer, by answer: ReadyAnswer) {
        let hash = old.requests.hash
        let memory = ReadyMemory(of: answer)
        _ = shards[hash].withLock { shard in
            let replaced = shard.remove(hash) { $0 === old }
            if replaced != nil { shard.insert(answer, memory) }
            return replaced
        }
    }

    /// Removes the answer to these requests if it was made of that entry.
    func remove(_ requests: ReadyAnswer.Requests, madeOf entry: ObjectIdentifier) {
        _ = shards[requests.hash].withLock { shard in
            shard.remove(requests.hash) {
                ObjectIdentifier($0.validity.entry.entry) == entry && $0.requests == requests
            }
        }
    }

    var count: Int { shards.sum { $0.count } }
}
