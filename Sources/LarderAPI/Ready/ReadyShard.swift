import MicroHTTPD
import Primitives

/// The part of a ``ReadyTable`` that one lock guards: a hash table with open addressing. No locks in it.
///
/// A slot has all that is needed to have everything fetched from memory that a hit reads, before any of it is waited
/// for.
///
/// `@unchecked Sendable` is safe: what the slots refer to is in `owned`, in the same place.
struct ReadyShard: @unchecked Sendable {
    private struct Slot {
        var hash = 0
        /// `nil`: nothing is here. Not counted, so that a look-up writes nothing.
        var answer: Unmanaged<ReadyAnswer>?
        /// What a hit will read.
        var memory: ReadyMemory?
    }

    /// Of more answers nothing is fetched ahead.
    static let prefetchLimit = 3

    private var slots = [Slot](repeating: Slot(), count: 32)
    private var owned = [ReadyAnswer?](repeating: nil, count: 32)
    private(set) var count = 0

    /// Has fetched what will be read of what has this hash: of the first few, for all variants of a target have it, and
    /// to fetch hundreds would push out what is needed.
    ///
    /// - Returns: of how many.
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

    /// - Parameter memory: of that answer.
    mutating func insert(_ answer: ReadyAnswer, _ memory: ReadyMemory) {
        // At most three quarters are taken.
        if 4 * (count + 1) > 3 * slots.count { grow() }
        count += 1
        place(
            Slot(hash: answer.requests.hash, answer: Unmanaged.passUnretained(answer), memory: memory), owner: answer)
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

    /// Moves back what a look-up would no longer find behind a gap.
    private mutating func close(gapAt gap: Int) {
        var gap = gap
        var index = next(gap)
        while slots[index].answer != nil {
            // How far the slot is from where its look-up starts, and from the gap.
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

    /// The shard was chosen by the lowest bits.
    private func start(_ hash: Int) -> Int { (hash >> 4) & (slots.count - 1) }

    private func next(_ index: Int) -> Int { (index + 1) & (slots.count - 1) }
}

/// What a hit reads of an answer, in its slot: an array would be one place more to look at.
struct ReadyMemory: Sendable {
    private let answer, target, entry: MemoryHint
    private let changes: MemoryHint?
    private let response: Response.Memory

    /// Not under a lock: what libmicrohttpd needs of the answer may be made for it.
    init(of answer: ReadyAnswer) {
        self.answer = MemoryHint(answer, length: 192)
        target = answer.requests.target.withUnsafeBytes { MemoryHint($0.baseAddress, length: $0.count) }
        entry = MemoryHint(answer.validity.entry.entry, length: 64)
        changes = answer.validity.responses?.memory
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
