/// Bytes that wait to be sent, with a high-water mark above which the producer should wait, and the action that calls
/// the producer back. The type has no lock. Its owner calls the actions that it takes out of the queue, after it has
/// released its own lock.
package struct BoundedQueue: Sendable {
    private var chunks = ChunkQueue()
    private var highWaterMark: Int
    private var roomAction: (@Sendable () -> Void)?

    /// An empty queue.
    ///
    /// - Parameter highWaterMark: the number of waiting bytes from which on the queue reports ``Backpressure/full``, at
    ///   least 1. The queue has room again when half as many bytes wait.
    package init(highWaterMark: Int) {
        self.highWaterMark = max(1, highWaterMark)
    }

    /// The number of waiting bytes.
    package var count: Int { chunks.count }

    private var isFull: Bool { chunks.count >= highWaterMark }

    /// The number of bytes until the queue reports ``Backpressure/full``; at least 1.
    package var room: Int { max(1, highWaterMark - chunks.count) }

    /// Raises the high-water mark; a lower value has no effect.
    package mutating func raise(to highWaterMark: Int) {
        self.highWaterMark = max(self.highWaterMark, highWaterMark)
    }

    /// Appends bytes, without a copy.
    package mutating func append(_ bytes: SharedBytes) -> Backpressure {
        chunks.append(bytes)
        return isFull ? .full : .room
    }

    /// Moves as many bytes as are waiting and fit from the front of the queue into `target`; returns their number.
    package mutating func take(into target: UnsafeMutableRawBufferPointer) -> Int {
        chunks.take(into: target)
    }

    /// Returns `true` when the queue has room, and ignores `action`. Otherwise returns `false` and keeps `action` for
    /// ``takeRoomAction()``, in place of an earlier action.
    package mutating func hasRoom(orCall action: @escaping @Sendable () -> Void) -> Bool {
        guard isFull else { return true }
        roomAction = action
        return false
    }

    /// Returns the kept action, once, when the queue has room again; the caller calls it. Otherwise `nil`.
    package mutating func takeRoomAction() -> (@Sendable () -> Void)? {
        chunks.count <= highWaterMark / 2 ? roomAction.take() : nil
    }

    /// Empties the queue, which makes room. Returns the bytes, so that the caller releases them where it holds no lock.
    @discardableResult
    package mutating func removeAll() -> ChunkQueue {
        defer { chunks = ChunkQueue() }
        return chunks
    }
}
