import CMicroHTTPD
import Primitives
import Synchronization

/// A body that is produced while it is sent, by a producer on any thread. ``write(_:)-(SharedBytes)`` never blocks: it
/// takes all bytes and returns whether there is room for more. A producer without room waits with ``onRoom(_:)``. So
/// the memory holds at most the high-water mark and one more write; if no write exceeds ``room``, only the mark.
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
/// Invariants: `state` is locked; callbacks and resumptions happen after the lock is released. `waiting` is set exactly
/// while the connection is suspended because the queue is empty. The thread that clears it resumes the connection.
package final class ResponseStream: Sendable {
    enum Phase { case open, finished, failed, closed }

    struct State {
        var phase = Phase.open
        var queue: BoundedQueue
        var connection: Connection?
        /// If false, libmicrohttpd reads at the end only if the stream is too short, or if the close ends the body.
        var isChunked = false
        var share: AnswerMemory.Share?
        var waiting: Suspension?
        var closeActions: [@Sendable () -> Void] = []
    }

    let state: Locked<State>
    private let highWaterMark: Int

    /// A stream is for one ``Response``. From `highWaterMark` waiting bytes on, a write returns
    /// ``Primitives/Backpressure/full``; at half as many bytes there is room again. The mark is at most 3.5 KiB before
    /// the stream is sent, and if ``DaemonConfiguration/answerMemoryLimit`` leaves no room for more.
    package init(highWaterMark: Int = 256 * 1024) {
        self.highWaterMark = highWaterMark
        state = Locked(State(queue: BoundedQueue(highWaterMark: min(highWaterMark, AnswerMemory.queued))))
    }

    /// The bytes are not copied. May be called before the response is sent.
    @discardableResult
    package func write(_ bytes: SharedBytes) -> Backpressure {
        write(pieces: CollectionOfOne(bytes))
    }

    /// The pieces are not copied. The connection is woken once for all pieces.
    @discardableResult
    package func write(pieces: some Collection<SharedBytes> & Sendable) -> Backpressure {
        let (result, suspension): (Backpressure, Suspension?) = state.withLock { state in
            guard case .open = state.phase else { return (.closed, nil) }
            var result = Backpressure.room
            for piece in pieces { result = state.queue.append(piece) }
            return (result, state.queue.count > 0 ? state.waiting.take() : nil)
        }
        resume(suspension)
        return result
    }

    /// Copies the bytes.
    @discardableResult
    package func write(_ bytes: UnsafeRawBufferPointer) -> Backpressure {
        write(SharedBytes(copying: bytes))
    }

    @discardableResult
    package func write(_ bytes: some Sequence<UInt8>) -> Backpressure {
        write(SharedBytes(bytes))
    }

    /// Calls `action` once, as soon as there is room (at once if there is) or the stream is closed. libmicrohttpd's
    /// thread may make the call, so `action` must not block. A later action replaces an earlier action.
    package func onRoom(_ action: @escaping @Sendable () -> Void) {
        let isReady = state.withLock { state in
            guard case .open = state.phase else { return true }
            return state.queue.hasRoom(orCall: action)
        }
        if isReady { action() }
    }

    /// If the body is shorter than its length, the client sees an incomplete body. Bytes beyond it are not sent.
    package func finish() {
        end(.finished)
    }

    /// Ends a body that cannot be completed: the connection breaks off after the bytes that were written before.
    package func fail() {
        end(.failed)
    }

    /// Drops the unsent bytes and cuts off the connection immediately. May also follow ``finish()`` or ``fail()``,
    /// which wait for a client that does not read.
    package func abort() {
        // While the lock is held, the stream stays open, so the connection cannot have begun another request.
        state.withLock { state in
            if case .closed = state.phase { return }
            state.connection?.giveUpSending()
        }
        close()
    }

    /// Calls `action` once, on any thread, when the stream is closed, whether it was sent or not; at once if the stream
    /// is closed already. `action` must not block.
    package func onClose(_ action: @escaping @Sendable () -> Void) {
        let isClosed = state.withLock { state in
            if case .closed = state.phase { return true }
            state.closeActions.append(action)
            return false
        }
        if isClosed { action() }
    }

    /// The number of bytes that may be written before the stream is full; at least 1.
    package var room: Int { state.withLock { $0.queue.room } }

    private func end(_ phase: Phase) {
        let suspension: Suspension? = state.withLock { state in
            guard case .open = state.phase else { return nil }
            state.phase = phase
            return state.waiting.take()
        }
        resume(suspension)
    }

    /// A stream can be sent once. `memory` is for the bytes beyond ``AnswerMemory/queued`` that the queue may hold.
    func attach(to connection: Connection, isChunked: Bool, memory: AnswerMemory) {
        let extra = highWaterMark - AnswerMemory.queued
        let share = extra > 0 ? memory.take(extra) : nil
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

    /// Called on the connection's thread. Returns the number of bytes, a code for the end, or 0 after a suspension.
    func read(into target: UnsafeMutableRawBufferPointer) -> Int {
        enum Step {
            case bytes(Int, roomAction: (@Sendable () -> Void)?)
            case end(Int, of: Connection?)
            case wait(Connection)
        }
        let step: Step = state.withLock { state in
            switch state.phase {
            case .closed: return .end(cmhd_end_with_error(), of: nil)
            case .failed where state.queue.count == 0: return .end(cmhd_end_with_error(), of: nil)
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
        guard let suspension = connection.suspend(owner: self) else { return cmhd_end_with_error() }
        // A producer may have written bytes, or the end, since `read` looked at the state.
        let isWaiting = state.withLock { state in
            guard case .open = state.phase, state.queue.count == 0 else { return false }
            state.waiting = suspension
            return true
        }
        if !isWaiting { connection.resume(suspension) }
        return 0
    }

    /// Called when the bytes will not be read any more.
    func close() {
        var closeActions: [@Sendable () -> Void] = []
        // The bytes in the queue are freed after the lock is released.
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
        state.withLock { $0.connection }?.resume(suspension)
    }
}

extension ResponseStream: SuspensionOwner {
    func clientLeft() {
        close()
    }
}

/// Limits the memory for all answers' bodies on their way to clients, beyond ``small`` bytes for each answer. Each
/// connection may have an answer. An answer without a ``Share`` goes out in smaller pieces, which is slower and never
/// fails.
final class AnswerMemory: Sendable {
    /// Bytes that stay taken from the memory until this object is released.
    final class Share: Sendable {
        private let memory: AnswerMemory
        private let count: Int

        fileprivate init(_ memory: AnswerMemory, _ count: Int) {
            self.memory = memory
            self.count = count
        }

        deinit {
            memory.held.subtract(count, ordering: .relaxed)
        }
    }

    /// The most bytes that libmicrohttpd adds to a block. A block with these bytes fills a size class of jemalloc.
    private static let overhead = 512
    /// The most bytes of a body that an answer without a share has in memory.
    static let small = (8 << 10) - overhead
    /// The most bytes in the queue of a stream without a share. The block that is being sent may have as many again.
    static let queued = (4 << 10) - overhead
    /// The bytes of a body that an answer with a share reads and sends at once; more bytes are not faster.
    static let large = (64 << 10) - overhead
    private let limit: Int
    private let held = Atomic<Int>(0)

    /// In bytes, for all answers together.
    init(limit: Int) {
        self.limit = limit
    }

    /// Takes bytes from the memory; `nil` if fewer bytes are left.
    func take(_ count: Int) -> Share? {
        guard held.add(count, ordering: .relaxed).newValue <= limit else {
            held.subtract(count, ordering: .relaxed)
            return nil
        }
        return Share(self, count)
    }

    /// The size of a block, and its share, if any. `isQueued`: a queue holds up to ``queued`` bytes beside the block.
    func block(isQueued: Bool = false) -> (count: Int, share: Share?) {
        let share = take(Self.large)
        return (share != nil ? Self.large : isQueued ? Self.queued : Self.small, share)
    }
}
