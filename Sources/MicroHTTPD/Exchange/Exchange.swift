import CMicroHTTPD
import HTTPTypes
import Primitives

/// One request whose head was accepted, on its way to its answer.
///
/// Every exchange that is handed to a handler must be answered by ``respond(_:)``, once, from any thread; dropping it
/// leaves its client waiting.
///
/// Invariants: `receiver`, `pause` and `action` belong to the connection's thread; `action` is there until the body is
/// complete. `receivedBody` is written before the handler gets the exchange and never after. `state` is locked; whoever
/// takes it out of `suspended` has the duty to resume the connection, after the lock is released.
///
/// `@unchecked Sendable` is safe for these reasons.
public final class Exchange: @unchecked Sendable {
    /// The head of the request.
    public let request: Request

    /// What became of the request's body.
    public var body: ReceivedBody { receivedBody }

    private enum Phase {
        /// The body is being read, or the handler runs on the connection's thread. That thread looks at the phase
        /// afterwards, and is the only one to suspend the connection.
        case handling
        /// The connection waits.
        case suspended(Suspension)
        /// The answer is there, and the connection's thread will find it.
        case answered(PreparedResponse)
        /// libmicrohttpd has the answer.
        case sent
        /// The client went away, or the daemon gave up, before there was an answer.
        case hungUp
        /// libmicrohttpd is done with the request, which had an answer.
        case ended
    }

    private struct State {
        var phase = Phase.handling
        var hangUpActions: [@Sendable () -> Void] = []
    }

    private let state = Locked(State())
    private let connection: Connection
    private var receiver: BodyReceiver
    /// The last one; `nil` when the body was never held up.
    private var pause: BodyPause?
    private var action: (@Sendable (Exchange) -> Void)?
    private var receivedBody = ReceivedBody.none

    init(
        request: Request, connection: Connection, policy: BodyPolicy, action: @escaping @Sendable (Exchange) -> Void
    ) {
        self.request = request
        self.connection = connection
        self.action = action
        receiver = BodyReceiver(
            policy: policy, declaredLength: request.declaredLength,
            discardLimit: connection.core.configuration.discardLimit, memory: connection.core.bodyMemory)
    }

    // MARK: For the handler

    /// Answers the request. From any thread; may be called before the handler returns. What it costs to prepare the
    /// answer (reading a small file) is paid by the calling thread.
    ///
    /// When the client has gone meanwhile, nothing happens; a stream in the answer is closed. A second answer is a
    /// programmer error, which is ignored in a release build.
    public func respond(_ response: Response) {
        let prepared = response.prepared(for: request, on: connection)
        enum Outcome {
            case stored
            case resume(Suspension)
            case dropped
            case repeated
        }
        // Freed after the lock is released: they may be the last to hold something.
        var actions: [@Sendable () -> Void] = []
        let outcome: Outcome = state.withLock { state in
            switch state.phase {
            case .handling:
                state.phase = .answered(prepared)
                swap(&actions, &state.hangUpActions)
                return .stored
            case .suspended(let suspension):
                state.phase = .answered(prepared)
                swap(&actions, &state.hangUpActions)
                return .resume(suspension)
            case .hungUp, .ended:
                return .dropped
            case .answered, .sent:
                return .repeated
            }
        }
        switch outcome {
        case .stored:
            break
        case .resume(let suspension):
            connection.core.suspensions.resume(suspension)
        case .dropped:
            prepared.discard()
        case .repeated:
            prepared.discard()
            assertionFailure("an exchange was answered twice")
        }
    }

    /// Sends an interim response (RFC 9110 §15.2), such as 102 or 103, ahead of the answer. From any thread, any number
    /// of times. Whether it was sent: not to a client of HTTP/1.0, which knows no such thing, not over TLS, not after
    /// ``respond(_:)``, and not when the client is so far behind with reading that there is no room for it. It costs a
    /// system call.
    ///
    /// libmicrohttpd has no call for it, so it is written to the socket, which nothing else writes to meanwhile:
    /// libmicrohttpd begins with a request only when the kernel has taken the last byte of the answer before it, and
    /// with the answer only after ``respond(_:)``. Over TLS it would have to be encrypted by who reads, on another
    /// thread, and what has no room could not be taken back; so it is left out, as HTTP allows.
    ///
    /// - Parameters:
    ///   - status: 102 to 199. (100 is libmicrohttpd's business, and 101 changes the protocol.)
    ///   - fields: As for ``Response/init(status:fields:body:)``; none unless told.
    @discardableResult
    public func sendInterim(_ status: Int, fields: HTTPFields = [:]) -> Bool {
        precondition((102...199).contains(status), "\(status) is not the status of an interim response")
        guard request.version != "HTTP/1.0", !connection.isSecure else { return false }
        let reason: StaticString = status == 102 ? "Processing" : status == 103 ? "Early Hints" : ""
        let bytes = Response.wireHead(status: status, reason: reason, fields: fields) + [0x0d, 0x0a]
        // Under the lock, so that neither the answer nor the end of the connection comes in between. It does not wait.
        return state.withLock { state in
            switch state.phase {
            case .handling, .suspended: connection.sendWhole(bytes)
            case .answered, .sent, .hungUp, .ended: false
            }
        }
    }

    /// Has `action` called once, if the client goes away before ``respond(_:)``, or the daemon gives up on the
    /// exchange; at once if that has happened already. The exchange is over then. It is called on a thread of the
    /// daemon's, which must not be kept waiting. A client that has only closed its sending side counts as gone.
    ///
    /// A client is only watched while its exchange waits, after the handler has returned.
    public func onHangUp(_ action: @escaping @Sendable () -> Void) {
        let isLate = state.withLock { state in
            switch state.phase {
            case .handling, .suspended:
                state.hangUpActions.append(action)
                return false
            case .hungUp:
                return true
            case .answered, .sent, .ended:
                return false
            }
        }
        if isLate { action() }
    }

    // MARK: From the connection, on its thread

    /// Whether the body is known to be too large already, and is better not read: the client waits for the go-ahead, or
    /// would send more than is thrown away.
    var isRefusedUnread: Bool {
        receiver.isDeclaredTooLarge
            && (!receiver.isWorthReading(request.declaredLength)
                || request.field("Expect")?.lowercased() == "100-continue")
    }

    /// Takes a piece of the body. False closes the connection.
    func receiveBody(_ bytes: UnsafeRawBufferPointer) -> Bool {
        if let pause, pause.isHungUp { return false }
        switch receiver.receive(bytes) {
        case .next: return true
        case .close: return false
        case .wait(let sink):
            let pause = BodyPause(connection)
            self.pause = pause
            return pause.begin(sink)
        }
    }

    /// The request is complete, or the connection was resumed. False closes the connection.
    func proceed() -> Bool {
        if let action {
            if let pause, pause.isHungUp { return false }
            self.action = nil
            receivedBody = receiver.finish()
            action(self)
        }
        enum Step {
            case send(PreparedResponse)
            case suspend
            case close
        }
        let step: Step = state.withLock { state in
            switch state.phase {
            case .handling:
                return .suspend
            case .answered(let prepared):
                state.phase = .sent
                return .send(prepared)
            case .suspended, .sent, .hungUp, .ended:
                return .close
            }
        }
        switch step {
        case .send(let prepared): return connection.queue(prepared)
        case .suspend: return suspend()
        case .close: return false
        }
    }

    private func suspend() -> Bool {
        guard let suspension = connection.core.suspensions.suspend(connection, owner: self) else {
            clientLeft()
            return false
        }
        // The answer, or the hang-up, may have come since the last look.
        let isWaiting = state.withLock { state in
            guard case .handling = state.phase else { return false }
            state.phase = .suspended(suspension)
            return true
        }
        if !isWaiting { connection.core.suspensions.resume(suspension) }
        return true
    }

    /// libmicrohttpd is done with the request, in whatever way.
    func end() {
        if action != nil {
            action = nil
            receiver.abandon()
        }
        var actions: [@Sendable () -> Void] = []
        let unsent: PreparedResponse? = state.withLock { state in
            switch state.phase {
            case .answered(let prepared):
                state.phase = .ended
                return prepared
            case .sent:
                state.phase = .ended
                return nil
            case .handling, .suspended:
                state.phase = .hungUp
                swap(&actions, &state.hangUpActions)
                return nil
            case .hungUp, .ended:
                return nil
            }
        }
        unsent?.discard()
        for action in actions { action() }
    }
}

extension Exchange: SuspensionOwner {
    func clientLeft() {
        var actions: [@Sendable () -> Void] = []
        let suspension: Suspension? = state.withLock { state in
            switch state.phase {
            case .handling:
                state.phase = .hungUp
                swap(&actions, &state.hangUpActions)
                return nil
            case .suspended(let suspension):
                state.phase = .hungUp
                swap(&actions, &state.hangUpActions)
                return suspension
            case .answered, .sent, .hungUp, .ended:
                return nil
            }
        }
        if let suspension { connection.core.suspensions.resume(suspension) }
        for action in actions { action() }
    }
}
