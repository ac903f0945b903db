import HTTPTypes
import Primitives
import Synchronization

/// A request that the handler has accepted, until it is answered. A handler must answer every exchange by
/// ``respond(_:)``, once, from any thread. If it drops the exchange, the client waits for ever.
///
/// Invariants, which make `@unchecked Sendable` safe: `receiver`, `pause` and `action` belong to the connection's
/// thread. `action` is set until the body is complete. `body` does not change once the handler has the exchange. The
/// thread that ends the phase `suspended` resumes the connection after it has released the lock.
package final class Exchange: @unchecked Sendable {
    package let request: Request
    package private(set) var body = ReceivedBody.none

    private enum Phase {
        /// The connection's thread reads the body or runs the handler, and reads the phase afterwards.
        case handling
        case suspended(Suspension)
        /// The answer waits for the connection's thread to queue it.
        case answered(PreparedResponse)
        /// libmicrohttpd has the answer.
        case sent
        /// The client went away, or the daemon gave up, before there was an answer.
        case hungUp
        /// libmicrohttpd is done with the request, after the phase `sent` or `answered`.
        case ended

        /// Whether an answer may still come.
        var isOpen: Bool {
            switch self {
            case .handling, .suspended: true
            case .answered, .sent, .hungUp, .ended: false
            }
        }
    }

    private struct State {
        var phase = Phase.handling
        var hangUpActions: [@Sendable () -> Void] = []
    }

    private let state = Locked(State())
    private let connection: Connection
    private let resources: ExchangeResources
    private var receiver: BodyReceiver
    /// The last pause of the body; `nil` if there was none.
    private var pause: BodyPause?
    private var action: (@Sendable (Exchange) -> Void)?

    init(
        request: Request, connection: Connection, policy: BodyPolicy, resources: ExchangeResources,
        action: @escaping @Sendable (Exchange) -> Void
    ) {
        self.request = request
        self.connection = connection
        self.resources = resources
        self.action = action
        receiver = BodyReceiver(
            policy: policy, declaredLength: request.declaredLength, discardLimit: resources.discardLimit,
            memory: resources.bodyMemory)
    }

    /// May be called from any thread, and before the handler returns. The calling thread prepares the answer, which
    /// includes reading a small file. If the client has gone, the call has no effect, except that it closes a stream in
    /// the answer. A second answer is a programmer error, which a release build ignores.
    package func respond(_ response: Response) {
        let prepared = resources.prepare(response, for: request, on: connection)
        switch change({ $0.isOpen ? .answered(prepared) : nil }).before {
        case .handling: break
        case .suspended(let suspension): connection.resume(suspension)
        case .hungUp, .ended: prepared.discard()
        case .answered, .sent:
            prepared.discard()
            assertionFailure("an exchange was answered twice")
        }
    }

    /// Sends an interim response (RFC 9110 §15.2), such as 102 or 103, ahead of the answer. May be called from any
    /// thread, any number of times. `status` is 102 to 199, because libmicrohttpd sends 100 itself, and 101 changes the
    /// protocol. For `fields` see ``Response/init(status:fields:body:)``. Returns false, without sending, for a client
    /// of HTTP/1.0, over TLS, after ``respond(_:)``, and if the socket has no room.
    ///
    /// libmicrohttpd has no call for interim responses, so the bytes are written to the socket. No other code writes
    /// then: libmicrohttpd begins with a request only after the kernel has taken all of the earlier answer, and with
    /// the answer only after ``respond(_:)``. Over TLS only the connection's own thread could encrypt the bytes.
    @discardableResult
    package func sendInterim(_ status: Int, fields: HTTPFields = [:]) -> Bool {
        precondition((102...199).contains(status), "\(status) is not the status of an interim response")
        guard request.version != "HTTP/1.0", !connection.isSecure else { return false }
        let reason: StaticString = status == 102 ? "Processing" : status == 103 ? "Early Hints" : ""
        let bytes = Response.wireHead(status: status, reason: reason, fields: fields) + [0x0d, 0x0a]
        // The lock prevents an answer, or the end of the connection, during the call. The call does not block.
        return state.withLock { $0.phase.isOpen && connection.sendWhole(bytes) }
    }

    /// Calls `action` once if the client goes away, or the daemon gives up, before ``respond(_:)``; at once if that has
    /// happened already. `action` must not block, because a thread of the daemon calls it. A client that has only
    /// closed its sending side counts as gone. The daemon watches the client only after the handler has returned.
    package func onHangUp(_ action: @escaping @Sendable () -> Void) {
        let isLate = state.withLock { state in
            if state.phase.isOpen { state.hangUpActions.append(action) }
            if case .hungUp = state.phase { return true }
            return false
        }
        if isLate { action() }
    }

    /// Whether a too large body stays unread: it exceeds the discard limit, or the client waits for `100 Continue`.
    var isRefusedUnread: Bool {
        receiver.isDeclaredTooLarge
            && (!receiver.isWorthReading(request.declaredLength)
                || request.field("Expect")?.lowercased() == "100-continue")
    }

    /// Receives a piece of the body. Returning false closes the connection.
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

    /// Called when the request is complete, and when the connection was resumed. Returning false closes the connection.
    func proceed() -> Bool {
        if let action {
            if let pause, pause.isHungUp { return false }
            self.action = nil
            body = receiver.finish()
            action(self)
        }
        let (before, _) = change { phase in
            if case .answered = phase { .sent } else { nil }
        }
        switch before {
        case .handling: return suspend()
        case .answered(let prepared): return prepared.queue(on: connection)
        case .suspended, .sent, .hungUp, .ended: return false
        }
    }

    private func suspend() -> Bool {
        guard let suspension = connection.suspend(owner: self) else {
            clientLeft()
            return false
        }
        // Another thread may have answered, or the client hung up, since `proceed` read the phase.
        let (before, _) = change { phase in
            if case .handling = phase { .suspended(suspension) } else { nil }
        }
        if case .handling = before { return true }
        connection.resume(suspension)
        return true
    }

    /// Called when libmicrohttpd is done with the request, whether it was answered or not.
    func end() {
        if action != nil {
            action = nil
            receiver.abandon()
        }
        let (before, actions) = change { phase in
            switch phase {
            case .handling, .suspended: .hungUp
            case .answered, .sent: .ended
            case .hungUp, .ended: nil
            }
        }
        if case .answered(let unsent) = before { unsent.discard() }
        for action in actions { action() }
    }

    /// Changes the phase to the result of `next`, unless the result is `nil`. Returns the earlier phase, and the
    /// hang-up actions if no answer can come any more. The caller frees the actions without the lock.
    private func change(_ next: (Phase) -> Phase?) -> (before: Phase, actions: [@Sendable () -> Void]) {
        state.withLock { state in
            let before = state.phase
            guard let phase = next(before) else { return (before, []) }
            state.phase = phase
            var actions: [@Sendable () -> Void] = []
            if !phase.isOpen { swap(&actions, &state.hangUpActions) }
            return (before, actions)
        }
    }
}

extension Exchange: SuspensionOwner {
    func clientLeft() {
        let (before, actions) = change { $0.isOpen ? .hungUp : nil }
        if case .suspended(let suspension) = before { connection.resume(suspension) }
        for action in actions { action() }
    }
}

/// Shared by all exchanges of a daemon.
final class ExchangeResources: Sendable {
    let bodyMemory: BodyMemory
    private let answerMemory: AnswerMemory
    let discardLimit: Int
    /// Whether every answer announces that the connection closes after it.
    let isDraining = Atomic<Bool>(false)

    init(bodyMemory: Int, answerMemory: Int, discardLimit: Int) {
        self.bodyMemory = BodyMemory(limit: bodyMemory)
        self.answerMemory = AnswerMemory(limit: answerMemory)
        self.discardLimit = discardLimit
    }

    func prepare(_ response: Response, for request: Request, on connection: Connection) -> PreparedResponse {
        response.prepared(
            for: request, on: connection, memory: answerMemory, draining: isDraining.load(ordering: .relaxed))
    }
}
