import Primitives

/// The body of a request that a producer, on any thread, writes while the client sends it. ``write(_:)`` never blocks:
/// it takes all bytes and reports whether the body has room for more. A producer without room calls ``onRoom(_:)``, so
/// that at most the high-water mark and one more write are in memory. Waiting for the producer is not a stall. During
/// this wait the client may not notice that the connection was closed.
///
/// Invariants: callbacks and wake-ups happen after the lock is released. `isAwaited` is set exactly while libcurl waits
/// for bytes. Clearing it wakes the transfer, so many writes cause one wake-up.
package final class OriginUpload: Sendable {
    private typealias Action = @Sendable () -> Void

    private enum Phase { case open, finished, failed(String), closed }

    private struct State {
        var phase = Phase.open
        var queue: BoundedQueue
        var writtenCount: Int64 = 0
        var wasRead = false
        var isLastChunkSent = false
        /// Wakes the transfer; `nil` before ``attach(wake:)`` and after ``close()``.
        var wake: Action?
        var isAwaited = false

        /// Clears `isAwaited`. The returned callbacks wake the transfer if it waits.
        mutating func takeAwaiting() -> Callbacks {
            defer { isAwaited = false }
            return Callbacks(wake: isAwaited ? wake : nil)
        }

        /// Fails the body. The returned callbacks wake the transfer, whether it waits or not, and the producer.
        mutating func fail(_ words: String) -> Callbacks {
            phase = .failed(words)
            queue.removeAll()
            return Callbacks(wake: wake, roomAction: queue.takeRoomAction())
        }
    }

    /// The calls that a change of the state causes. They are made after the lock is released.
    private struct Callbacks {
        var wake: Action?
        var roomAction: Action?

        func call() {
            wake?()
            roomAction?()
        }
    }

    /// In bytes; `nil` for an unknown length: the body is then sent in chunks.
    package let length: Int64?
    private let state: Locked<State>

    /// A body for one ``OriginRequest``. From `highWaterMark` waiting bytes on, a write reports
    /// ``Primitives/Backpressure/full``; the body has room again when only half as many bytes wait.
    package init(length: Int64?, highWaterMark: Int = 256 * 1024) {
        precondition(length ?? 0 >= 0, "the length of a body must not be negative")
        self.length = length
        state = Locked(State(queue: BoundedQueue(highWaterMark: highWaterMark)))
    }

    /// Appends bytes, without a copy, also before the transfer starts. A write beyond the declared length makes the
    /// transfer fail with ``OriginError/Kind/uploadBroken(_:)``, and calls the action of ``onRoom(_:)``.
    @discardableResult
    package func write(_ bytes: SharedBytes) -> Backpressure {
        let (result, callbacks): (Backpressure, Callbacks) = state.withLock { state in
            guard case .open = state.phase else { return (.closed, Callbacks()) }
            state.writtenCount += Int64(bytes.count)
            if let length, state.writtenCount > length {
                return (.closed, state.fail("it is longer than its declared \(length) bytes"))
            }
            return (state.queue.append(bytes), bytes.count > 0 ? state.takeAwaiting() : Callbacks())
        }
        callbacks.call()
        return result
    }

    /// Calls `action` once, as soon as the body has room or is closed; at once if this is so already. The call may come
    /// on the transfer's thread, so `action` must not block. A new action replaces an earlier action.
    package func onRoom(_ action: @escaping @Sendable () -> Void) {
        let isReady = state.withLock { state in
            guard case .open = state.phase else { return true }
            return state.queue.hasRoom(orCall: action)
        }
        if isReady { action() }
    }

    /// Completes the body. If it is shorter than its declared length, the transfer fails, as in ``write(_:)``.
    package func finish() {
        let callbacks = state.withLock { state in
            guard case .open = state.phase else { return Callbacks() }
            if let length, state.writtenCount < length {
                return state.fail("it ended after \(state.writtenCount) of its declared \(length) bytes")
            }
            state.phase = .finished
            return state.takeAwaiting()
        }
        callbacks.call()
    }

    /// Fails the body, because the producer cannot complete it, or because it is not needed. The client breaks the
    /// request off, so that the origin does not take the body for complete. Further writes are dropped.
    package func fail() {
        let callbacks = state.withLock { state in
            if case .open = state.phase { state.fail("its sender ended it early") } else { Callbacks() }
        }
        callbacks.call()
    }

    /// The numbers of bytes that the transfer has taken, and that wait for the transfer.
    package var progress: (taken: Int64, waiting: Int) {
        state.withLock { ($0.writtenCount - Int64($0.queue.count), $0.queue.count) }
    }

    enum Reading: Equatable {
        case bytes(Int)
        case end
        /// libcurl pauses. The next write, or the end of the body, wakes the transfer.
        case wait
    }

    /// The reason why the transfer must fail; `nil` when it may continue.
    var failure: String? {
        state.withLock { state in
            guard case .failed(let words) = state.phase else { return nil }
            return words
        }
    }

    /// Whether libcurl has read no byte, so that the body can be sent from the start again.
    var isUntouched: Bool { state.withLock { !$0.wasRead } }

    /// Connects the body with its transfer. Any thread may call `wake`, which makes the transfer continue.
    func attach(wake: @escaping @Sendable () -> Void) {
        let isFirst = state.withLock { state in
            defer { state.wake = wake }
            return state.wake == nil
        }
        precondition(isFirst, "a body can be sent only once")
    }

    /// Moves bytes into libcurl's buffer, in chunks when the length is unknown (RFC 9112 §7.1). libcurl's own chunks
    /// are not used, because libcurl writes the last chunk even when a body breaks off.
    func read(into target: UnsafeMutableRawBufferPointer) -> Reading {
        let (reading, roomAction): (Reading, Action?) = state.withLock { state in
            switch state.phase {
            case .closed: return (.end, nil)
            // The transfer is about to end, because `fail` wakes it.
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
                return (.bytes(count), state.queue.takeRoomAction())
            }
        }
        roomAction?()
        return reading
    }

    /// Closes the body when the transfer no longer uses it. Further writes get ``Primitives/Backpressure/closed``.
    func close() {
        let roomAction = state.withLock { state in
            state.phase = .closed
            state.queue.removeAll()
            state.wake = nil
            return state.queue.takeRoomAction()
        }
        roomAction?()
    }

    private static func takeChunk(_ queue: inout BoundedQueue, into target: UnsafeMutableRawBufferPointer) -> Int {
        // A chunk needs 12 bytes: eight digits, and two line ends. libcurl's buffer is always larger.
        let count = min(queue.count, target.count - 12)
        let size = Array("\(String(count, radix: 16))\r\n".utf8)
        target.copyBytes(from: size)
        _ = queue.take(into: .init(rebasing: target[size.count..<size.count + count]))
        UnsafeMutableRawBufferPointer(rebasing: target[(size.count + count)...]).copyBytes(from: [0x0d, 0x0a])
        return size.count + count + 2
    }
}
