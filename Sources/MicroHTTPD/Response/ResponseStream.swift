import CMicroHTTPD
import Primitives

/// A body that is produced while it is sent, by somebody who can wait, on any thread.
///
/// Writing never blocks. ``write(_:)-(SharedBytes)`` takes what it is given and says whether there is room for more; a
/// producer that is told there is none asks ``onRoom(_:)`` to be called when there is. So at most the high-water mark
/// and one more write are in memory, however slow the client; a producer that writes no more than ``room`` at a time
/// stays within the mark. When the producer is slower than the client, the connection is suspended.
///
/// ```
/// func produce() {
///     while let piece = nextPiece() {
///         switch stream.write(piece) {
///         case .room: continue
///         case .full: return stream.onRoom { produce() }
///         case .closed: return
///         }
///     }
///     stream.finish()
/// }
/// ```
///
/// Invariants: `state` is locked; callbacks and resumptions happen after the lock is released. `waiting` is there
/// exactly while the connection is suspended for want of bytes, and whoever takes it resumes the connection.
public final class ResponseStream: Sendable {
    private enum Phase {
        case open
        case finished
        case failed
        case closed
    }

    private struct State {
        var phase = Phase.open
        var queue: BoundedQueue
        var connection: Connection?
        /// Whether libmicrohttpd sends it in chunks. Of others it is only asked for more than there is where they are
        /// shorter than was said, or end with the connection.
        var isChunked = false
        /// What the queue may hold beyond ``AnswerMemory/small``.
        var share: AnswerMemory.Share?
        var waiting: Suspension?
        var closeActions: [@Sendable () -> Void] = []
    }

    private let state: Locked<State>
    private let highWaterMark: Int

    /// A stream to be given to one ``Response``.
    ///
    /// - Parameter highWaterMark: how many bytes may wait before a write says ``Primitives/Backpressure/full``; at half
    ///   of it there is room again. Before the stream is sent, and where ``Daemon/Configuration/answerMemoryLimit``
    ///   leaves no room for more, 8 KiB at most. Default 256 KiB.
    public init(highWaterMark: Int = 256 * 1024) {
        self.highWaterMark = highWaterMark
        state = Locked(State(queue: BoundedQueue(highWaterMark: min(highWaterMark, AnswerMemory.small))))
    }

    // MARK: For the producer

    /// Adds bytes, which are not copied. May be called before the response is sent.
    @discardableResult
    public func write(_ bytes: SharedBytes) -> Backpressure {
        write(pieces: CollectionOfOne(bytes))
    }

    /// Adds several pieces in one go, none of which is copied; the connection is woken once for all of them.
    @discardableResult
    public func write(pieces: some Collection<SharedBytes> & Sendable) -> Backpressure {
        let (result, suspension): (Backpressure, Suspension?) = state.withLock { state in
            guard case .open = state.phase else { return (.closed, nil) }
            var result = Backpressure.room
            for piece in pieces { result = state.queue.append(piece) }
            return (result, state.queue.count > 0 ? state.waiting.take() : nil)
        }
        resume(suspension)
        return result
    }

    /// Adds a copy of the bytes.
    @discardableResult
    public func write(_ bytes: UnsafeRawBufferPointer) -> Backpressure {
        write(SharedBytes(copying: bytes))
    }

    /// Adds a copy of the bytes.
    @discardableResult
    public func write(_ bytes: some Sequence<UInt8>) -> Backpressure {
        write(SharedBytes(bytes))
    }

    /// Calls `action` once, as soon as there is room (at once when there is) or the stream is closed. It may be called
    /// on libmicrohttpd's thread, which must not be kept waiting. Only the last action that was given is called.
    public func onRoom(_ action: @escaping @Sendable () -> Void) {
        let isReady = state.withLock { state in
            guard case .open = state.phase else { return true }
            return state.queue.hasRoom(orCall: action)
        }
        if isReady { action() }
    }

    /// The body is complete. With a declared length that was not reached the client sees a broken body; bytes beyond it
    /// are not sent.
    public func finish() {
        end(.finished)
    }

    /// The body cannot be completed: what was written before is sent, for who can go on from there, and then the
    /// connection is broken off, so that the client does not take the body for whole.
    public func fail() {
        end(.failed)
    }

    /// Nobody is to get any more of it: what was not sent is let go of, and the connection is cut off at once. Unlike
    /// ``finish()`` and ``fail()``, after which it may come, too, it does not wait for a client that takes nothing.
    public func abort() {
        // Under the lock: until this stream is closed, its answer is the one that the connection is busy with; after
        // that the connection may serve another.
        state.withLock { state in
            if case .closed = state.phase { return }
            state.connection?.giveUpSending()
        }
        close()
    }

    /// Calls `action` once, when the stream is over: everything was sent, or the client went away, or it did not want a
    /// body; at once if that has happened already. On any thread, which must not be kept waiting.
    public func onClose(_ action: @escaping @Sendable () -> Void) {
        let isClosed = state.withLock { state in
            if case .closed = state.phase { return true }
            state.closeActions.append(action)
            return false
        }
        if isClosed { action() }
    }

    /// How many bytes can be written before the stream is full; at least 1.
    public var room: Int { state.withLock { $0.queue.room } }

    /// How many bytes were written and are not handed to libmicrohttpd yet.
    public var bufferedCount: Int { state.withLock { $0.queue.count } }

    private func end(_ phase: Phase) {
        let suspension: Suspension? = state.withLock { state in
            guard case .open = state.phase else { return nil }
            state.phase = phase
            return state.waiting.take()
        }
        resume(suspension)
    }

    // MARK: For the connection

    /// Tells the stream where it is going. A stream can be sent once.
    ///
    /// - Parameter isChunked: whether libmicrohttpd sends it in chunks.
    func attach(to connection: Connection, isChunked: Bool) {
        let extra = highWaterMark - AnswerMemory.small
        let share = extra > 0 ? connection.core.answerMemory.take(extra) : nil
        let (isFirst, roomAction): (Bool, (@Sendable () -> Void)?) = state.withLock { state in
            defer { state.connection = connection }
            state.isChunked = isChunked
            if case .closed = state.phase { return (state.connection == nil, nil) }
            state.share = share
            if share != nil { state.queue.raise(to: highWaterMark) }
            return (state.connection == nil, state.queue.takeRoomAction())
        }
        precondition(isFirst, "a stream can be sent only once")
        roomAction?()
    }

    /// libmicrohttpd wants bytes, on the connection's thread: how many there are, or how it ends. 0, with the
    /// connection suspended, when there are none yet.
    func read(into target: UnsafeMutableRawBufferPointer) -> Int {
        enum Step {
            case bytes(Int, roomAction: (@Sendable () -> Void)?)
            case end(Int, of: Connection?)
            case wait(Connection)
        }
        let step: Step = state.withLock { state in
            switch state.phase {
            case .closed:
                return .end(cmhd_end_with_error(), of: nil)
            case .failed where state.queue.count == 0:
                return .end(cmhd_end_with_error(), of: nil)
            case .finished where state.queue.count == 0:
                return .end(cmhd_end_of_stream(), of: state.isChunked ? nil : state.connection)
            case .open, .finished, .failed:
                guard state.queue.count > 0 else {
                    return state.connection.map { .wait($0) } ?? .end(cmhd_end_with_error(), of: nil)
                }
                let count = state.queue.take(into: target)
                return .bytes(count, roomAction: state.queue.takeRoomAction())
            }
        }
        switch step {
        case .bytes(let count, let roomAction):
            roomAction?()
            return count
        case .end(let code, let connection):
            connection?.noteEnd()
            return code
        case .wait(let connection):
            return wait(on: connection)
        }
    }

    private func wait(on connection: Connection) -> Int {
        guard let suspension = connection.core.suspensions.suspend(connection, owner: self) else {
            return cmhd_end_with_error()
        }
        // Bytes, or the end, may have come since the last look.
        let isWaiting = state.withLock { state in
            guard case .open = state.phase, state.queue.count == 0 else { return false }
            state.waiting = suspension
            return true
        }
        if !isWaiting { connection.core.suspensions.resume(suspension) }
        return 0
    }

    /// Nobody will read any more.
    func close() {
        var closeActions: [@Sendable () -> Void] = []
        // The bytes are let go of after the lock is released.
        let (_, suspension, roomAction): (ChunkQueue, Suspension?, (@Sendable () -> Void)?) = state.withLock { state in
            if case .closed = state.phase { return (ChunkQueue(), nil, nil) }
            state.phase = .closed
            state.share = nil
            let dropped = state.queue.removeAll()
            swap(&closeActions, &state.closeActions)
            return (dropped, state.waiting.take(), state.queue.takeRoomAction())
        }
        resume(suspension)
        roomAction?()
        for action in closeActions { action() }
    }

    private func resume(_ suspension: Suspension?) {
        guard let suspension else { return }
        state.withLock { $0.connection }?.core.suspensions.resume(suspension)
    }
}

extension ResponseStream: SuspensionOwner {
    func clientLeft() {
        close()
    }
}
