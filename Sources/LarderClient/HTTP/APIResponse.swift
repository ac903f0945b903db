import HTTPTypes
import Origin
import Primitives

/// A response whose head has arrived. A single task reads the body.
package struct APIResponse: Sendable {
    private static let collectLimit = 256 << 20

    package let status: Int
    package let fields: HTTPFields
    private let incoming: IncomingResponse
    private let server: ServerAddress

    /// Waits for the head.
    init(_ incoming: IncomingResponse, server: ServerAddress) async throws {
        switch await incoming.next() {
        case .head(let head):
            status = head.status
            fields = head.fields
        case .end(.failure(let error)): throw ClientError(error, server: server, hasAnswer: false)
        case .piece, .end(.success): throw ClientError.unreachable("\(server) answered without a head")
        }
        self.incoming = incoming
        self.server = server
    }

    /// Returns the next bytes, at least one; `nil` at the end. Throws ``ClientError`` when the body is incomplete.
    package func nextPiece() async throws -> [UInt8]? {
        switch await incoming.next() {
        case .piece(let bytes): return bytes
        case .end(.success): return nil
        case .end(.failure(let error)): throw ClientError(error, server: server, hasAnswer: true)
        case .head: throw ClientError.unexpected("it has two heads")
        }
    }

    /// Returns the rest of the body, at most 256 MiB.
    package func collect() async throws -> [UInt8] {
        var body: [UInt8] = []
        while let piece = try await nextPiece() {
            body += piece
            guard body.count <= Self.collectLimit else { throw ClientError.unexpected("it is too long") }
        }
        return body
    }

    /// Throws ``ClientError/unexpected(_:)`` when more than 16 MiB are kept of an incomplete line or event, because no
    /// answer of the API has such long parts, and the reader would fill the memory.
    func check(pendingBytes: Int) throws {
        guard pendingBytes <= 16 << 20 else { throw ClientError.unexpected("a part of it is too long") }
    }

    package func checkStatus() async throws {
        guard !(200..<300).contains(status) else { return }
        throw ClientError.refused(ServerProblem(status: status, fields: fields, body: try await collect()))
    }
}

package struct APIReply: Sendable {
    package let status: Int
    package let body: [UInt8]

    package func json() throws -> JSON {
        try Result { () throws(JSON.SyntaxError) in try JSON(parsing: body) }
            .mapError { ClientError.unexpected("it is not JSON: \($0)") }.get()
    }
}

/// Buffers the events of a transfer for the task that reads them. The transfer pauses when the buffer holds 256 KiB,
/// and resumes when it holds less than half of that.
///
/// Invariants, under the lock of `state`: `reader` waits only while `events` is empty. The step that sets `isPaused`
/// also pauses the transfer, and the step that clears `isPaused` resumes it, so no transfer stays paused.
final class IncomingResponse: OriginReceiver {
    /// A response may end without a head. The end stays in the buffer, so that ``next()`` can return it again.
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

    func originDidAnswer(_ head: OriginHead) { add(.head(head)) }
    func originDidSend(_ bytes: UnsafeRawBufferPointer) { add(.piece(Array(bytes))) }
    func originDidFinish(_ result: Result<OriginSummary, OriginError>) { add(.end(result)) }

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
                // `pause()` only sets a flag. Outside the lock it could run after the reader's `resume()`.
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
