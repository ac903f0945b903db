import MicroHTTPD
import Primitives

/// The ready answers, found by their targets. The table is split into shards so that threads rarely wait for the same
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

    /// Has no effect if a change of the entry has removed `old`, because `answer` would then be outdated and stay.
    func replace(_ old: ReadyAnswer, by answer: ReadyAnswer) {
        let hash = old.requests.hash
        let memory = ReadyMemory(of: answer)
        _ = shards[hash].withLock { shard in
            let replaced = shard.remove(hash) { $0 === old }
            if replaced != nil { shard.insert(answer, memory) }
            return replaced
        }
    }

    func remove(_ requests: ReadyAnswer.Requests, madeOf entry: ObjectIdentifier) {
        _ = shards[requests.hash].withLock { shard in
            shard.remove(requests.hash) {
                ObjectIdentifier($0.validity.entry.entry) == entry && $0.requests == requests
            }
        }
    }

    var count: Int { shards.sum { $0.count } }
}

/// The part of a ``ReadyTable`` behind one lock: a hash table with open addressing. The shard itself takes no locks.
/// A slot has the addresses of all memory that a hit reads, so that the caller can prefetch all of it together.
///
/// `@unchecked Sendable` is safe because `owned` holds the answers that the slots refer to, at the same index.
struct ReadyShard: @unchecked Sendable {
    private struct Slot {
        var hash = 0
        /// `nil` if the slot is free. The reference is not counted, so that a look-up does not write to memory.
        var answer: Unmanaged<ReadyAnswer>?
        var memory: ReadyMemory?
    }

    static let prefetchLimit = 3

    private var slots = [Slot](repeating: Slot(), count: 32)
    private var owned = [ReadyAnswer?](repeating: nil, count: 32)
    private(set) var count = 0

    /// Prefetches the memory of the first answers with this hash, and returns their number. All variants of a target
    /// share a hash, and prefetching hundreds of answers would displace memory that is needed.
    func prefetch(_ hash: Int) -> Int {
        var (index, count) = (start(hash), 0)
        while count < Self.prefetchLimit, slots[index].answer != nil {
            if slots[index].hash == hash {
                slots[index].memory?.prefetch()
                count += 1
            }
            index = next(index)
        }
        return count
    }

    func find<Result>(
        _ hash: Int, _ head: borrowing RawHead, _ wish: ReadyWish, _ use: (ReadyAnswer) -> Result
    ) -> Result? {
        var index = start(hash)
        while let found = slots[index].answer {
            if slots[index].hash == hash {
                let result: Result?? = found._withUnsafeGuaranteedRef { answer in
                    answer.isFor(wish.target) && answer.answers(head, wish) ? use(answer) : nil
                }
                if let result, let result { return result }
            }
            index = next(index)
        }
        return nil
    }

    mutating func insert(_ answer: ReadyAnswer, _ memory: ReadyMemory) {
        // At most three quarters of the slots are taken.
        if 4 * (count + 1) > 3 * slots.count { grow() }
        count += 1
        place(Slot(hash: answer.requests.hash, answer: Unmanaged.passUnretained(answer), memory: memory), owner: answer)
    }

    mutating func remove(_ hash: Int, where isMeant: (ReadyAnswer) -> Bool) -> ReadyAnswer? {
        var index = start(hash)
        while let found = slots[index].answer {
            if slots[index].hash == hash, found._withUnsafeGuaranteedRef(isMeant) {
                count -= 1
                defer { close(gapAt: index) }
                return owned[index]
            }
            index = next(index)
        }
        return nil
    }

    /// Moves slots into the gap. A look-up ends at a gap, so it would no longer find the slots behind it.
    private mutating func close(gapAt gap: Int) {
        var gap = gap
        var index = next(gap)
        while slots[index].answer != nil {
            // The slot may move only if its look-up starts at the gap or before it.
            let distance = (index - start(slots[index].hash)) & (slots.count - 1)
            if distance >= (index - gap) & (slots.count - 1) {
                (slots[gap], owned[gap]) = (slots[index], owned[index])
                gap = index
            }
            index = next(index)
        }
        (slots[gap], owned[gap]) = (Slot(), nil)
    }

    private mutating func place(_ slot: Slot, owner: ReadyAnswer?) {
        var index = start(slot.hash)
        while slots[index].answer != nil { index = next(index) }
        (slots[index], owned[index]) = (slot, owner)
    }

    private mutating func grow() {
        let (oldSlots, oldOwned) = (slots, owned)
        slots = Array(repeating: Slot(), count: 2 * oldSlots.count)
        owned = Array(repeating: nil, count: 2 * oldSlots.count)
        for (slot, owner) in zip(oldSlots, oldOwned) where slot.answer != nil { place(slot, owner: owner) }
    }

    /// The lowest four bits have chosen the shard already.
    private func start(_ hash: Int) -> Int { (hash >> 4) & (slots.count - 1) }
    private func next(_ index: Int) -> Int { (index + 1) & (slots.count - 1) }
}

/// The addresses that a hit reads. They are in the slot itself, because an array would cost one more memory access.
struct ReadyMemory: Sendable {
    private let answer, target, entry: MemoryHint
    private let changes: MemoryHint?
    private let response: Response.Memory

    /// Must be called without a lock, because it may create libmicrohttpd's object for the answer.
    init(of answer: ReadyAnswer) {
        self.answer = MemoryHint(answer, length: 192)
        target = answer.requests.target.withUnsafeBytes { MemoryHint($0.baseAddress, length: $0.count) }
        entry = MemoryHint(answer.validity.entry.entry, length: 64)
        changes = answer.validity.responses?.memory ?? answer.validity.page.map { MemoryHint($0.entry, length: 64) }
        response = answer.response.memory
    }

    func prefetch() {
        answer.prefetch()
        target.prefetch()
        entry.prefetch()
        changes?.prefetch()
        response.prefetch()
    }
}
