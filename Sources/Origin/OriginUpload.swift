import Primitives

/// The body of a request, produced while it is sent by somebody who can wait, on any thread.
///
/// Writing never blocks. ``write(_:)`` takes what it is given and says whether there is room for more; a producer that
/// is told there is none asks ``onRoom(_:)`` to be called when there is. So at most the high-water mark and one more
/// write are in memory, however slow the origin. When the producer is slower, sending is paused, which is no stall;
/// that the origin has closed the connection meanwhile may be found out only by the next write.
///
/// Invariants: `state` is locked; callbacks and wake-ups happen after the lock is released. `isAwaited` is set exactly
/// while libcurl waits for bytes, and whoever takes it back wakes the transfer: one wake-up for many writes.
public final class OriginUpload: Sendable {
    private enum Phase {
        case open
        case finished
        case failed(String)
        case closed
    }

    private struct State {
        var phase = Phase.open
        var queue: BoundedQueue
        /// How many bytes were written, and whether libcurl was given any, framing included.
        var writtenCount: Int64 = 0
        var wasRead = false
        var isLastChunkSent = false
        var transfer: OriginTransfer?
        var isAwaited = false

        /// The transfer that has to be woken, when it waits.
        mutating func takeAwaiting() -> OriginTransfer? {
            defer { isAwaited = false }
            return isAwaited ? transfer : nil
        }

        /// The transfer that has to be ended, whether it waits or not.
        mutating func fail(_ words: String) -> OriginTransfer? {
            phase = .failed(words)
            queue.removeAll()
            return transfer
        }
    }

    /// What the body is declared to be long, in bytes; `nil` when that is not known, and the body goes out in chunks.
    public let length: Int64?
    private let state: Locked<State>

    /// A body to be given to one ``OriginRequest``.
    ///
    /// - Parameters:
    ///   - length: its length in bytes, at least 0; `nil` when it is not known.
    ///   - highWaterMark: how many bytes may wait before a write says ``Primitives/Backpressure/full``; at half of it
    ///     there is room again. Default 256 KiB.
    public init(length: Int64?, highWaterMark: Int = 256 * 1024) {
        precondition(length ?? 0 >= 0, "a body cannot be shorter than nothing")
        self.length = length
        state = Locked(State(queue: BoundedQueue(highWaterMark: highWaterMark)))
    }

    // MARK: For the producer

    /// Adds bytes, which are not copied. May be called before the transfer starts. Beyond the declared length the
    /// transfer fails, with ``OriginError/Kind/uploadBroken(_:)``.
    @discardableResult
    public func write(_ bytes: SharedBytes) -> Backpressure {
        let (result, transfer): (Backpressure, OriginTransfer?) = state.withLock { state in
            guard case .open = state.phase else { return (.closed, nil) }
            state.writtenCount += Int64(bytes.count)
            if let length, state.writtenCount > length {
                return (.closed, state.fail("it is longer than its declared \(length) bytes"))
            }
            let result = state.queue.append(bytes)
            return (result, bytes.count > 0 ? state.takeAwaiting() : nil)
        }
        transfer?.wake()
        return result
    }

    /// Calls `action` once, as soon as there is room (at once when there is) or the body is closed. It may be called on
    /// the transfer's thread, which must not be kept waiting. Only the last action that was given is called.
    public func onRoom(_ action: @escaping @Sendable () -> Void) {
        let isReady = state.withLock { state in
            guard case .open = state.phase else { return true }
            return state.queue.hasRoom(orCall: action)
        }
        if isReady { action() }
    }

    /// The body is complete. When the declared length was not reached the transfer fails, with
    /// ``OriginError/Kind/uploadBroken(_:)``.
    public func finish() {
        let transfer: OriginTransfer? = state.withLock { state in
            guard case .open = state.phase else { return nil }
            if let length, state.writtenCount < length {
                return state.fail("it ended after \(state.writtenCount) of its declared \(length) bytes")
            }
            state.phase = .finished
            return state.takeAwaiting()
        }
        transfer?.wake()
    }

    /// The body cannot be completed: the transfer is broken off, so that the origin does not take it for whole, and
    /// fails with ``OriginError/Kind/uploadBroken(_:)``.
    public func fail() {
        let (transfer, roomAction): (OriginTransfer?, (@Sendable () -> Void)?) = state.withLock { state in
            guard case .open = state.phase else { return (nil, nil) }
            return (state.fail("its producer gave up"), state.queue.takeRoomAction())
        }
        transfer?.wake()
        roomAction?()
    }

    /// How many bytes the transfer has taken, and how many wait for it.
    public var progress: (taken: Int64, waiting: Int) {
        state.withLock { ($0.writtenCount - Int64($0.queue.count), $0.queue.count) }
    }

    // MARK: For the transfer

    /// What libcurl gets when it asks for bytes.
    enum Reading: Equatable {
        case bytes(Int)
        case end
        /// Nothing yet: the transfer is woken when there is something.
        case wait
    }

    /// Why the transfer must not go on; `nil` while it may.
    var failure: String? {
        state.withLock { state in
            guard case .failed(let words) = state.phase else { return nil }
            return words
        }
    }

    /// Whether not a byte of it was taken, so that it can still be sent from the start.
    var isUntouched: Bool { state.withLock { !$0.wasRead } }

    /// Tells the body where it is going. It can be sent once.
    func attach(to transfer: OriginTransfer) {
        let isFirst = state.withLock { state in
            defer { state.transfer = transfer }
            return state.transfer == nil
        }
        precondition(isFirst, "a body can be sent only once")
    }

    /// Moves bytes into libcurl's buffer, in chunks when the length is not known (RFC 9112 §7.1).
    ///
    /// The chunks are made here because libcurl, told that a body has ended, always writes the last chunk: a body that
    /// nobody wants any more could then not be left without one.
    func read(into target: UnsafeMutableRawBufferPointer) -> Reading {
        let (reading, roomAction): (Reading, (@Sendable () -> Void)?) = state.withLock { state in
            switch state.phase {
            case .closed: return (.end, nil)
            // The transfer is about to be ended: see `fail`.
            case .failed: return (.wait, nil)
            case .finished where state.queue.count == 0:
                guard length == nil, !state.isLastChunkSent else { return (.end, nil) }
                state.isLastChunkSent = true
                state.wasRead = true
                let end = Array("0\r\n\r\n".utf8)
                target.copyBytes(from: end)
                return (.bytes(end.count), nil)
            case .open where state.queue.count == 0:
                state.isAwaited = true
                return (.wait, nil)
            case .open, .finished:
                state.wasRead = true
                let count =
                    length == nil ? Self.takeChunk(&state.queue, into: target) : state.queue.take(into: target)
                return (
                    .bytes(count), state.queue.takeRoomAction()
                )
            }
        }
        roomAction?()
        return reading
    }

    /// Nobody reads any more: writes are told so.
    func close() {
        let roomAction = state.withLock { state in
            state.phase = .closed
            state.queue.removeAll()
            state.transfer = nil
            return state.queue.takeRoomAction()
        }
        roomAction?()
    }

    private static func takeChunk(_ queue: inout BoundedQueue, into target: UnsafeMutableRawBufferPointer) -> Int {
        // Eight digits, and a line end before and after the bytes: libcurl's buffer is always larger.
        let count = min(queue.count, target.count - 12)
        let size = Array("\(String(count, radix: 16))\r\n".utf8)
        target.copyBytes(from: size)
        _ = queue.take(into: .init(rebasing: target[size.count..<size.count + count]))
        UnsafeMutableRawBufferPointer(rebasing: target[(size.count + count)...]).copyBytes(from: [0x0d, 0x0a])
        return size.count + count + 2
    }
}
