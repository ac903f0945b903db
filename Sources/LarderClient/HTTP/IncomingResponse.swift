import Origin
import Primitives

/// What a transfer brings, in the hands of the one task that reads it: no more than it reads is held in memory, beside
/// a mark above which the transfer pauses.
///
/// Invariants, under `state`'s lock: `reader` waits only while `events` is empty. A transfer is paused in the same step
/// in which `isPaused` is set, and whoever takes `isPaused` back resumes it: it is never left paused.
final class IncomingResponse: OriginReceiver {
    /// One thing after the other: a head or an end first, pieces behind a head, and an end, which stays.
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

    // MARK: The transfer's side

    /// The transfer that brings it was started; it may have ended by now.
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
                // A flag and no more: after the lock the reader could resume it before.
                transfer.pause()
            }
            return nil
        }
        reader?.resume(returning: event)
    }

    // MARK: The reader's side

    /// The next of them; once it was the end, the end again. When the task is cancelled, that is how the transfer ends.
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

    /// Ends the transfer: nobody reads on.
    func cancel() {
        let transfer = state.withLock { state in
            state.isCancelled = true
            return state.transfer
        }
        transfer?.cancel()
    }
}
