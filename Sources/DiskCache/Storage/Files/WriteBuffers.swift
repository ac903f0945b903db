import Primitives

/// Memory that collects a body's bytes, so that they are written in large pieces that begin at a page: pieces of 64 KiB
/// cost the kernel a third more work for a body of 1 MiB. Without a buffer, bytes are written as they arrive. Returned
/// buffers are kept until ``trim()``, because clearing the pages of a new one costs as much as it saves.
final class WriteBuffers: Sendable {
    static let capacity = 256 << 10
    /// All buffers together take 16 MiB.
    static let limit = 64

    /// `@unchecked Sendable` because it has one owner at a time: the pool, or a ``WriteBuffer``.
    fileprivate struct Memory: @unchecked Sendable {
        let bytes: UnsafeMutableRawBufferPointer
    }

    private let state = Locked((idle: [Memory](), takenCount: 0))

    deinit { trim() }

    /// `nil` when all buffers are in use.
    func take() -> WriteBuffer? {
        let memory: Memory?? = state.withLock { state in
            guard state.takenCount < Self.limit else { return nil }
            state.takenCount += 1
            return .some(state.idle.popLast())
        }
        guard let memory else { return nil }
        // Aligned to a page, so that the written bytes begin at a page in memory, too.
        return WriteBuffer(memory ?? Memory(bytes: .allocate(byteCount: Self.capacity, alignment: 4096)), of: self)
    }

    /// Frees the idle buffers. Returns the number of bytes freed.
    @discardableResult
    func trim() -> Int {
        let idle = state.withLock { exchange(&$0.idle, with: []) }
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

/// Received bytes of a body that are not yet in its file. `@unchecked Sendable` because its owner, a ``GrowingBody``,
/// changes it only under its lock, and only the thread that changes it reads it without the lock.
final class WriteBuffer: @unchecked Sendable {
    private let memory: WriteBuffers.Memory
    private let owner: WriteBuffers
    private(set) var count = 0

    fileprivate init(_ memory: WriteBuffers.Memory, of owner: WriteBuffers) {
        self.memory = memory
        self.owner = owner
    }

    deinit { owner.giveBack(memory) }

    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: memory.bytes[..<count]) }
    var isFull: Bool { count == memory.bytes.count }

    /// Takes as many bytes as fit. Returns their number.
    func fill(_ bytes: UnsafeRawBufferPointer) -> Int {
        let taken = min(bytes.count, memory.bytes.count - count)
        UnsafeMutableRawBufferPointer(rebasing: memory.bytes[count...])
            .copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[..<taken]))
        count += taken
        return taken
    }

    func empty() { count = 0 }
}
