/// Immutable bytes. The memory tier, responses, and C code that needs a stable address share them without a copy.
public final class SharedBytes: Sendable {
    /// Valid while this object exists. Swift may release the object after its last use, and a read of this pointer does
    /// not count as a use. So code that does not keep the object elsewhere reads through ``withUnsafeBytes(_:)``.
    /// `nonisolated(unsafe)` is safe because no code writes to the memory after `init`.
    public nonisolated(unsafe) let bytes: UnsafeRawBufferPointer
    public var count: Int { bytes.count }

    public convenience init(copying source: UnsafeRawBufferPointer) {
        self.init(count: source.count) { $0.copyMemory(from: source) }
    }

    public convenience init(_ source: some Sequence<UInt8>) {
        let array = Array(source)
        self.init(count: array.count) { $0.copyBytes(from: array) }
    }

    /// Allocates `count` bytes; `fill` must write each of them. Rethrows the error of `fill`.
    public init<Failure: Error>(
        count: Int, fill: (UnsafeMutableRawBufferPointer) throws(Failure) -> Void
    ) throws(Failure) {
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 16)
        do {
            try fill(memory)
        } catch {
            memory.deallocate()
            throw error
        }
        bytes = UnsafeRawBufferPointer(memory)
    }

    deinit {
        bytes.deallocate()
    }

    /// Keeps this object alive until `body` returns; rethrows the error of `body`.
    @inlinable
    public func withUnsafeBytes<Result: ~Copyable, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        defer { withExtendedLifetime(self) {} }
        return try body(bytes)
    }
}

extension [UInt8] {
    /// Copies the bytes.
    package init(_ shared: SharedBytes) {
        self = shared.withUnsafeBytes { Array($0) }
    }
}

/// Bytes that wait to be sent, in the pieces in which they arrived, without copies. The type has no lock and no limit.
package struct ChunkQueue: Sendable {
    /// The pieces. A used piece becomes `nil`, which frees its bytes at once; its place in the array is removed later.
    private var chunks: [SharedBytes?] = []
    /// The index of the first piece with unused bytes, and the number of bytes of this piece that are used.
    private var first = 0
    private var offset = 0
    package private(set) var count = 0

    package init() {}

    package mutating func append(_ bytes: SharedBytes) {
        guard bytes.count > 0 else { return }
        chunks.append(bytes)
        count += bytes.count
    }

    /// Moves bytes from the front of the queue into `target`, as many as possible; returns their number.
    package mutating func take(into target: UnsafeMutableRawBufferPointer) -> Int {
        var taken = 0
        while taken < target.count, first < chunks.count, let chunk = chunks[first] {
            let rest = UnsafeRawBufferPointer(rebasing: chunk.bytes[offset...])
            let length = min(rest.count, target.count - taken)
            UnsafeMutableRawBufferPointer(rebasing: target[taken..<taken + length])
                .copyMemory(from: UnsafeRawBufferPointer(rebasing: rest[..<length]))
            taken += length
            offset += length
            if length == rest.count {
                chunks[first] = nil
                first += 1
                offset = 0
            }
        }
        count -= taken
        // The places of used pieces are removed in batches, because each removal moves the rest of a long array.
        if first == chunks.count || first > 64 {
            chunks.removeFirst(first)
            first = 0
        }
        return taken
    }
}

/// Bytes that wait to be sent, with a high-water mark at which the producer should wait, and the action that calls the
/// producer back. The type has no lock: its owner guards it, and calls the action after releasing the owner's lock.
package struct BoundedQueue: Sendable {
    private var chunks = ChunkQueue()
    private var highWaterMark: Int
    private var roomAction: (@Sendable () -> Void)?

    /// The queue is ``Backpressure/full`` from `highWaterMark` bytes on, at least 1, until only half of them are left.
    package init(highWaterMark: Int) {
        self.highWaterMark = max(1, highWaterMark)
    }

    package var count: Int { chunks.count }
    private var isFull: Bool { chunks.count >= highWaterMark }
    /// The number of bytes until the queue reports ``Backpressure/full``; at least 1.
    package var room: Int { max(1, highWaterMark - chunks.count) }

    /// Raises the high-water mark. A lower value has no effect.
    package mutating func raise(to highWaterMark: Int) {
        self.highWaterMark = max(self.highWaterMark, highWaterMark)
    }

    package mutating func append(_ bytes: SharedBytes) -> Backpressure {
        chunks.append(bytes)
        return isFull ? .full : .room
    }

    package mutating func take(into target: UnsafeMutableRawBufferPointer) -> Int { chunks.take(into: target) }

    /// Returns whether the queue has room. If not, keeps `action` for ``takeRoomAction()``, and drops an earlier one.
    package mutating func hasRoom(orCall action: @escaping @Sendable () -> Void) -> Bool {
        guard isFull else { return true }
        roomAction = action
        return false
    }

    /// Returns the kept action, and forgets it, when the queue has room again; otherwise `nil`.
    package mutating func takeRoomAction() -> (@Sendable () -> Void)? {
        chunks.count <= highWaterMark / 2 ? roomAction.take() : nil
    }

    /// Empties the queue. Returns its bytes, so that the caller frees them after it has released the owner's lock.
    @discardableResult
    package mutating func removeAll() -> ChunkQueue {
        defer { chunks = ChunkQueue() }
        return chunks
    }
}

/// A consumer's reply to a write of bytes. The write itself never blocks.
package enum Backpressure: Sendable {
    case room
    /// The consumer took the bytes. The producer should write more only after the consumer has called it back.
    case full
    /// The consumer is closed: it dropped the bytes, and will drop all further bytes.
    case closed
}
