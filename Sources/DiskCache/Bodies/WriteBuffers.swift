import Primitives

/// Memory in which bodies wait to be written in large pieces that begin where a page does: for the kernel a body of
/// 1 MiB in pieces of 64 KiB, as they come from a socket, is a third more work.
///
/// There are ``limit`` at most; who gets none writes what comes as it comes. They stay for the next until memory runs
/// short: a new one would cost as much as it saves, in pages that the kernel must clear.
final class WriteBuffers: Sendable {
    /// How many bytes a buffer holds.
    static let capacity = 256 << 10
    /// How many there are at most: 16 MiB.
    static let limit = 64

    private struct State {
        var idle: [Memory] = []
        var takenCount = 0
    }

    /// A buffer's memory has one owner at a time: this table, or a ``WriteBuffer``.
    fileprivate struct Memory: @unchecked Sendable {
        let bytes: UnsafeMutableRawBufferPointer
    }

    private let state = Locked(State())

    deinit {
        trim()
    }

    /// An empty buffer; `nil` when all are taken.
    func take() -> WriteBuffer? {
        let memory: Memory?? = state.withLock { state in
            guard state.takenCount < Self.limit else { return nil }
            state.takenCount += 1
            return .some(state.idle.popLast())
        }
        guard let memory else { return nil }
        // Page by page, so that what is written begins at one in memory, too.
        return WriteBuffer(memory ?? Memory(bytes: .allocate(byteCount: Self.capacity, alignment: 4096)), of: self)
    }

    /// Gives back the memory of those that nobody uses; how many bytes.
    @discardableResult
    func trim() -> Int {
        let idle = state.withLock { state in
            defer { state.idle = [] }
            return state.idle
        }
        for memory in idle { memory.bytes.deallocate() }
        return idle.count * Self.capacity
    }

    fileprivate func giveBack(_ memory: Memory) {
        state.withLock { state in
            state.takenCount -= 1
            state.idle.append(memory)
        }
    }
}

/// Bytes that have come and are not in their file yet. Goes back to the table when nobody holds it.
///
/// `@unchecked Sendable` because its owner, a ``GrowingBody``, changes it under its lock only, and reads it elsewhere
/// only on the one thread that changes it.
final class WriteBuffer: @unchecked Sendable {
    private let memory: WriteBuffers.Memory
    private let owner: WriteBuffers
    private(set) var count = 0

    fileprivate init(_ memory: WriteBuffers.Memory, of owner: WriteBuffers) {
        self.memory = memory
        self.owner = owner
    }

    deinit {
        owner.giveBack(memory)
    }

    /// What is in it.
    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: memory.bytes[..<count]) }

    /// Takes as many bytes as fit; how many.
    func fill(_ bytes: UnsafeRawBufferPointer) -> Int {
        let taken = min(bytes.count, memory.bytes.count - count)
        UnsafeMutableRawBufferPointer(rebasing: memory.bytes[count...])
            .copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[..<taken]))
        count += taken
        return taken
    }

    var isFull: Bool { count == memory.bytes.count }

    func empty() {
        count = 0
    }
}
