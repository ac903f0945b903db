import Origin
import Primitives

/// Buffers the events of a transfer for the task that reads them. The transfer pauses when the buffer holds 256 KiB,
/// and resumes when it holds less than half of that.
///
/// Invariants, under the lock of `state`: `reader` waits only while `events` is empty. The step that sets `isPaused`
/// also pauses the transfer, and the step that clears `isPaused` resumes it, so no transfer stays paused.
final class IncomingResponse: OriginReceiver {
    /// A response may end without a head. The end stays in the buffer.
    enum Event: Sendable {
        case head(OriginHead)
        case piece([UInt8])
        case end(Result<OriginSummary, OriginError>)
    }

    private struct State {
        var events: [Event] = []
        var byteCount = 0
        var transfer: OriginTransfer?
        var isPaused = false
        var isCancelled = false
        var reader: CheckedContinuation<Event, Never>?
    }

    private static let highWaterMark = 256 << 10

    private let state = Locked(State())

    /// The transfer may have ended already.
    func attach(_ transfer: OriginTransfer) {
        let isCancelled = state.withLock { state in
            state.transfer = transfer
            return state.isCancelled
        }
        if isCancelled { transfer.cancel() }
    }

    func originDidAnswer(_ head: OriginHead) {
        add(.head(head))
    }

    func originDidSend(_ bytes: UnsafeRawBufferPointer) {
        add(.piece(Array(bytes)))
    }

    func originDidFinish(_ result: Result<OriginSummary, OriginError>) {
        add(.end(result))
    }

    private func add(_ event: Event) {
        let reader = state.withLock { state -> CheckedContinuation<Event, Never>? in
            if let reader = state.reader.take() {
                if case .end = event { state.events = [event] }
                return reader
            }
            state.events.append(event)
            if case .piece(let bytes) = event { state.byteCount += bytes.count }
            if state.byteCount >= Self.highWaterMark, let transfer = state.transfer {
                state.isPaused = true
                // `pause()` only sets a flag. Called after the lock, it could come after the reader's `resume()`.
                transfer.pause()
            }
            return nil
        }
        reader?.resume(returning: event)
    }

    /// The next event; after the end, the end again. Cancelling the task cancels the transfer, which then ends.
    func next() async -> Event {
        await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: CheckedContinuation<Event, Never>) in
                let (event, paused) = state.withLock { state -> (Event?, OriginTransfer?) in
                    guard let event = state.events.first else {
                        state.reader = continuation
                        return (nil, nil)
                    }
                    if case .end = event { return (event, nil) }
                    state.events.removeFirst()
                    if case .piece(let bytes) = event { state.byteCount -= bytes.count }
                    guard state.isPaused, state.byteCount < Self.highWaterMark / 2 else { return (event, nil) }
                    state.isPaused = false
                    return (event, state.transfer)
                }
                paused?.resume()
                if let event { continuation.resume(returning: event) }
            }
        } onCancel: {
            cancel()
        }
    }

    func cancel() {
        let transfer = state.withLock { state in
            state.isCancelled = true
            return state.transfer
        }
        transfer?.cancel()
    }
}
