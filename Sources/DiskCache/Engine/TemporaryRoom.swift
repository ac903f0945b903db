import Primitives

/// The room on disk of a temporary file beside the bodies of entries, such as an uploaded archive. It counts against
/// the disk limit and the reserve, like a body that is being received, until the last reference goes. One thread at a
/// time may call ``grow(to:)``.
///
/// ```swift
/// let room = cache.makeTemporaryRoom()
/// try room.grow(to: length)            // then write the bytes up to this length
/// ```
package final class TemporaryRoom: Sendable {
    private let parts: CacheParts
    private let writer: Writer
    private let promise = Locked(ByteBudget.Promise())

    init(parts: CacheParts, writer: Writer) {
        self.parts = parts
        self.writer = writer
    }

    deinit { parts.budget.release(promise.withLock(\.self)) }

    /// Throws ``DiskCacheError/noSpace`` if `length` bytes have no room even without all entries that can be evicted.
    /// Evicts no entry, and takes no room.
    package func expect(_ length: Int64) throws(DiskCacheError) {
        guard parts.budget.couldHold(length, asPinned: false) else { throw .noSpace }
    }

    /// Takes room for `length` bytes in all. Waits for the writer if entries must be evicted first, so never call this
    /// method from a completion of the cache. Throws ``DiskCacheError/noSpace`` if no room can be made.
    package func grow(to length: Int64) throws(DiskCacheError) {
        let taken = promise.withLock { $0.bytes }
        let missing = length - taken
        guard missing > 0 else { return }
        // Larger steps, so that a long file does not ask for each of its pieces.
        if let more = parts.budget.reserve(max(missing, min(taken, 1 << 20))) { return add(more) }
        while true {
            if let more = parts.budget.reserve(missing) { return add(more) }
            let hasRoom = try writer.perform(makesRoom: true) { context in
                try context.makeRoom(for: missing, asPinned: false)
            }
            guard hasRoom else { throw .noSpace }
        }
    }

    private func add(_ more: ByteBudget.Promise) {
        promise.withLock { $0.bytes += more.bytes }
    }
}
