/// Bytes that wait to be sent, with a mark above which their producer should wait, and what it is to be called back
/// with. No lock; the actions that are taken out of it are for its owner to call, after its lock was released.
public struct BoundedQueue: Sendable {
    private var chunks = ChunkQueue()
    private var highWaterMark: Int
    private var roomAction: (@Sendable () -> Void)?

    /// An empty queue.
    ///
    /// - Parameter highWaterMark: how many bytes may wait before it says ``Backpressure/full``, at least 1; at half of
    ///   it there is room again.
    public init(highWaterMark: Int) {
        self.highWaterMark = max(1, highWaterMark)
    }

    /// How many bytes wait.
    public var count: Int { chunks.count }

    private var isFull: Bool { chunks.count >= highWaterMark }

    /// How many bytes it takes until it says ``Backpressure/full``; at least 1.
    public var room: Int { max(1, highWaterMark - chunks.count) }

    /// Lets more bytes wait from now on.
    public mutating func raise(to highWaterMark: Int) {
        self.highWaterMark = max(self.highWaterMark, highWaterMark)
    }

    /// Adds bytes at the end; they are not copied.
    public mutating func append(_ bytes: SharedBytes) -> Backpressure {
        chunks.append(bytes)
        return isFull ? .full : .room
    }

    /// Moves as much as there is, and as fits, from the front into `target`; returns how much.
    public mutating func take(into target: UnsafeMutableRawBufferPointer) -> Int {
        chunks.take(into: target)
    }

    /// Remembers what the producer is to be called with, instead of what it gave before; whether there is room already,
    /// so that nothing was remembered.
    public mutating func hasRoom(orCall action: @escaping @Sendable () -> Void) -> Bool {
        guard isFull else { return true }
        roomAction = action
        return false
    }

    /// The action to call now, because there is room again; once.
    public mutating func takeRoomAction() -> (@Sendable () -> Void)? {
        chunks.count <= highWaterMark / 2 ? roomAction.take() : nil
    }

    /// Forgets all bytes: then there is room. They are returned, to be let go of where no lock is held.
    @discardableResult
    public mutating func removeAll() -> ChunkQueue {
        defer { chunks = ChunkQueue() }
        return chunks
    }
}
