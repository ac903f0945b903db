import CMicroHTTPD
import Foundation
import Primitives
import Synchronization

/// One client's TCP connection, for as long as libmicrohttpd serves it: its deadlines, and its current request.
///
/// Invariants: the libmicrohttpd thread that serves the connection calls every method, except the methods below "From
/// anywhere" and the methods that allow any thread in their comments. The variables without a lock therefore belong to
/// the serving thread. The watcher's thread uses the atomics and the excepted methods. `openDescriptor` is locked,
/// because the kernel gives the number of a closed descriptor to the next connection.
///
/// These invariants make `@unchecked Sendable` safe.
final class Connection: @unchecked Sendable {
    /// Identifies the connection for code that may run after the connection has ended.
    let id: UInt64
    let core: DaemonCore
    /// The thread that serves the connection.
    private let thread: ServingThread
    /// The index of that thread in ``ServingThreads``.
    let threadIndex: Int
    let remoteAddress: RemoteAddress
    /// libmicrohttpd's own object, alive until the connection is closed.
    let handle: OpaquePointer
    /// The socket. Use it only where the connection cannot be closed meanwhile: on its thread, or while it is
    /// suspended.
    let descriptor: Int32
    /// `nil` on a connection without TLS.
    private let tls: TLSSession?

    /// The time at which the client is cut off, in milliseconds of ``DaemonCore/now()``; `Int64.max` is never.
    let deadline: Atomic<Int64>
    /// Whether a request is in progress: its first line has arrived and its answer is not complete.
    let isBusy = Atomic<Bool>(false)
    /// Whether an answer is under way: libmicrohttpd has it, and the kernel does not have all of it.
    let isAnswering = Atomic<Bool>(false)
    /// Whether the client has closed at least its sending side.
    let hasHungUp = Atomic<Bool>(false)
    /// The number of bytes received from the client.
    let receivedCount = Atomic<UInt64>(0)

    /// The total number of bytes sent, set when the socket is about to be closed; see ``sentBytes``.
    let sentAtClose = Atomic<Int64>(0)

    /// Whether libmicrohttpd waits for the rest of a request and does not send meanwhile. This holds for the first
    /// request from the beginning of the connection, and for later requests while their bodies arrive.
    private let isAwaited = Atomic<Bool>(true)
    /// Whether the client was cut off, so that its further bytes are not worth reading.
    private let isCutOff = Atomic<Bool>(false)
    /// Whether a request has, or may have, an incomplete body.
    private var isBodyIncomplete = false

    /// The socket, or -1 once it may be closed.
    let openDescriptor: Locked<Int32>

    /// The target as it was sent, from the request line until the head is complete. All requests of the connection
    /// reuse the buffer.
    private var target = UnsafeMutableRawBufferPointer(start: nil, count: 0)
    private var targetCount = 0
    /// The value that the handler returned for the target; see ``RequestHandler/expect(_:)``.
    private var expectation = 0

    /// The bytes of the requests on this connection, in the order of arrival.
    let requests = RequestBytes()
    private var exchange: Exchange?
    /// The answer that was at hand when the head was complete, until it is queued.
    private var ready: Response?
    private var patience = Patience.untried
    /// `nil` if no minimum rate applies to the body. While the connection is suspended, the clock belongs to the thread
    /// that is about to resume the connection.
    private var bodyClock: BodyClock?

    /// How often the handler was asked for an answer at hand; see ``ReadyResponse/soon``.
    private enum Patience {
        case untried
        /// Once, and the handler returned `soon`. The connection is suspended in libmicrohttpd's second call, because
        /// it cannot be suspended in the first.
        case toldSoon
        /// The connection has waited for its turn.
        case tried
    }

    init(handle: OpaquePointer, thread index: Int, core: DaemonCore) {
        self.handle = handle
        self.core = core
        // libmicrohttpd reports a new connection on the thread that will serve it.
        thread = .ofCaller()
        threadIndex = index
        id = core.registry.newID()
        descriptor = cmhd_descriptor(handle)
        openDescriptor = Locked(descriptor)
        remoteAddress = RemoteAddress(cmhd_client_address(handle))
        deadline = Atomic(core.requestMilliseconds.map { core.now() + $0 } ?? .max)
        tls = TLSSession(of: handle, credentials: core.tls?.credentials)
        tls?.begin(on: self)
        thread.noteStart(of: self)
    }

    deinit {
        target.deallocate()
    }

    // MARK: From libmicrohttpd

    /// Copies the target, because libmicrohttpd cuts it up in place after this call. Then ends the original text after
    /// its `?`: the arguments that libmicrohttpd would find there are not used, but each would take a record of the
    /// connection's memory.
    func receiveTarget(_ text: UnsafeMutablePointer<CChar>?) {
        isBusy.store(true, ordering: .relaxed)
        targetCount = text.map { strlen($0) } ?? 0
        if targetCount > target.count || target.count > 4096 {
            target.deallocate()
            target = .allocate(byteCount: max(128, targetCount), alignment: 1)
        }
        guard let text else { return }
        target.copyMemory(from: UnsafeRawBufferPointer(start: text, count: targetCount))
        expectation = core.handler.expect(UnsafeRawBufferPointer(rebasing: target[..<targetCount]))
        if let question = strchr(text, 0x3f) { question[1] = 0 }
    }

    /// Takes a piece of the body. Returning false closes the connection.
    func receive(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let exchange else { return false }
        if bodyClock != nil { bodyClock?.receive(bytes.count, now: core.now()) }
        deadline.store(bodyClock?.deadline ?? .max, ordering: .relaxed)
        if exchange.receiveBody(bytes) { return true }
        isCutOff.store(true, ordering: .relaxed)
        return false
    }

    /// Does the next step of the request: shows its head to the handler, or has it answered. Returning false closes the
    /// connection.
    func proceed(_ line: RequestLine) -> Bool {
        if let ready {
            self.ready = nil
            return queueReady(ready)
        }
        if let exchange {
            deadline.store(.max, ordering: .relaxed)
            isAwaited.store(false, ordering: .relaxed)
            // This runs after a suspension, too, for a request that was refused unread. The body of such a request
            // stays incomplete.
            isBodyIncomplete = isBodyIncomplete && exchange.isRefusedUnread
            return exchange.proceed()
        }
        if patience == .toldSoon {
            patience = .tried
            if comeAgain() { return true }
        }
        isAwaited.store(false, ordering: .relaxed)
        let recordCount = Int(cmhd_record_count(handle))
        return RawFieldLine.withLines(of: handle, limit: recordCount) { begin(line, $0, recordCount: recordCount) }
    }

    /// Called when the head is complete.
    private func begin(
        _ line: RequestLine, _ fields: UnsafeBufferPointer<RawFieldLine>, recordCount: Int
    ) -> Bool {
        let target = UnsafeRawBufferPointer(rebasing: target[..<targetCount])
        var check = HeadCheck(
            line, target: target, fields: fields, wireLength: cmhd_head_size(handle), recordCount: recordCount,
            limits: core.headLimits)
        let isFirstCall = patience == .untried
        if isFirstCall, core.configuration.isLayoutKnown {
            let body = check.hasTransferEncoding ? RequestBytes.Body.chunks : .length(max(0, check.declaredLength))
            if let defect = requests.endHead(at: line.method, size: check.wireLength, body: body) { check.note(defect) }
        }
        if check.isPlain, let isHead = line.isHead {
            let head = RawHead(
                target: target, expectation: expectation, length: check.wireLength, isHead: isHead, lines: fields)
            switch core.handler.readyResponse(to: head) {
            case .response(let response):
                deadline.store(.max, ordering: .relaxed)
                // The answer is queued on the second call, because libmicrohttpd closes the connection after an answer
                // to the first call.
                if isFirstCall { ready = response } else { return queueReady(response) }
                return true
            case .soon where isFirstCall:
                patience = .toldSoon
                return true
            case .soon, .none: break
            }
        }
        let request = Request(line, target: target, fields: fields, check: check, remoteAddress: remoteAddress)
        // The end of a request with a defect is unknown.
        isBodyIncomplete = request.hasBody || request.defect != nil
        setBodyClock(request)
        switch core.handler.receive(request) {
        case .refuse(let response):
            // libmicrohttpd closes the connection after an answer to the first call, and leaves the body unread.
            deadline.store(.max, ordering: .relaxed)
            isAwaited.store(false, ordering: .relaxed)
            if request.defect?.leavesNoRoom == true, let bytes = response.wireForm(toHead: request.isHead) {
                // Sent past libmicrohttpd, because libmicrohttpd closes the connection without an answer if its memory
                // has no room for the answer's head. libmicrohttpd does not know of this answer, and logs "Application
                // reported internal error, closing connection." for the `false`.
                _ = sendPastLibrary(bytes)
                return false
            }
            return queue(response.prepared(for: request, on: self))
        case .accept(let policy, let action):
            let exchange = Exchange(request: request, connection: self, policy: policy, action: action)
            self.exchange = exchange
            // libmicrohttpd calls again after the first call. A request that has waited for its turn is in the second
            // call already, and no further call comes for it.
            guard exchange.isRefusedUnread || !isFirstCall else { return true }
            // On the first call the connection closes after the answer, as with a refusal.
            deadline.store(.max, ordering: .relaxed)
            isAwaited.store(false, ordering: .relaxed)
            return exchange.proceed()
        }
    }

    /// Prepares the connection for its next request.
    ///
    /// - Parameter isWhole: whether the answer was sent completely; if not, the connection ends.
    func endRequest(isWhole: Bool) {
        if !isWhole { noteEnd() }
        let ended = exchange
        exchange = nil
        ready = nil
        patience = .untried
        isBusy.store(false, ordering: .relaxed)
        isAnswering.store(false, ordering: .relaxed)
        isAwaited.store(false, ordering: .relaxed)
        deadline.store(
            core.idleMilliseconds.map { core.now() + $0 } ?? .max, ordering: .relaxed)
        ended?.end()
    }

    /// Notes that libmicrohttpd ends the connection in the current round. libmicrohttpd reports this itself for an
    /// incomplete answer. For an answer that libmicrohttpd takes for complete, the body's source calls this method.
    func noteEnd() { thread.lookAgain(at: handle) }

    /// Called when the descriptor is about to be closed. Returns whether the client may have more to send, in which
    /// case closing the descriptor would reset the connection before the client has seen its answer.
    func close() -> Bool {
        thread.noteClose(of: handle, descriptor: descriptor)
        openDescriptor.withLock { $0 = -1 }
        if isCutOff.load(ordering: .relaxed) { return false }
        var byte: UInt8 = 0
        let count = recv(descriptor, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT))
        guard count > 0 || (count < 0 && errno == EAGAIN && isBodyIncomplete) else { return false }
        // libmicrohttpd has closed the TLS session only. A client that waits for the end of the connection would wait
        // for as long as the socket lingers.
        if isSecure { _ = shutdown(descriptor, Int32(SHUT_WR)) }
        return true
    }

    // MARK: From anywhere

    /// Whether the connection uses TLS, so that bytes past libmicrohttpd can be sent on the connection's own thread
    /// only.
    var isSecure: Bool { tls != nil }

    /// Whether the socket holds bytes that libmicrohttpd has not read.
    var hasUnread: Bool {
        openDescriptor.withLock { descriptor in
            var byte: UInt8 = 0
            return descriptor >= 0 && recv(descriptor, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT)) > 0
        }
    }

    /// Cuts the client off: libmicrohttpd sees the end of the connection and closes it.
    func shutDown() {
        isCutOff.store(true, ordering: .relaxed)
        // Under the lock, so that the number cannot become another connection's between the check and the call.
        openDescriptor.withLock { descriptor in
            if descriptor >= 0 { _ = shutdown(descriptor, Int32(SHUT_RDWR)) }
        }
    }

    /// Calls ``shutDown()`` for a client that was too slow. Sends ``DaemonCore/lateAnswer`` first, if libmicrohttpd is
    /// waiting for the rest of a request and so cannot be sending.
    func cutOff() {
        let answer = core.lateAnswer
        if isAwaited.load(ordering: .relaxed), !answer.isEmpty {
            openDescriptor.withLock { descriptor in
                if descriptor >= 0 { _ = send(descriptor, answer, answer.count, Int32(MSG_DONTWAIT | MSG_NOSIGNAL)) }
            }
        }
        shutDown()
    }

    // MARK: For its other parts

    /// Whether the target of a head that is too large is to blame: its request line is still incomplete, or its target
    /// exceeds the limit.
    var isTargetTooLong: Bool {
        !isBusy.load(ordering: .relaxed) || targetCount > core.configuration.targetLimit
    }

    /// Records that the request was refused and its client may have more of it to send.
    func noteRefusal() {
        isBodyIncomplete = true
    }

    /// Sends a whole answer that libmicrohttpd does not know of, on the connection's thread.
    func sendPastLibrary(_ bytes: [UInt8]) -> Bool {
        tls?.send(bytes) ?? sendWhole(bytes)
    }

    // MARK: For the exchange

    /// Hands an answer to libmicrohttpd. Returns false if libmicrohttpd does not accept it.
    func queue(_ prepared: PreparedResponse) -> Bool {
        defer { prepared.discard() }
        guard let response = prepared.handle else { return false }
        isAnswering.store(true, ordering: .relaxed)
        return cmhd_queue(handle, prepared.status, response)
    }

    private func queueReady(_ response: Response) -> Bool {
        thread.noteAnswer()
        return queue(response.prepared(closing: core.isDraining.load(ordering: .relaxed)))
    }

    /// Makes libmicrohttpd call once more for this request, after it has served every connection that has events.
    /// Returns false, without effect, if the daemon is stopping.
    private func comeAgain() -> Bool {
        guard let suspension = core.suspensions.suspend(self, owner: self) else { return false }
        core.suspensions.resume(suspension)
        return true
    }

    /// Stops the clock and clears the deadline, because the body is no longer read.
    func stopBodyClock() {
        bodyClock?.stop(now: core.now())
        deadline.store(.max, ordering: .relaxed)
    }

    /// Restarts the clock, because the body is about to be read again. Called from any thread before the connection is
    /// resumed.
    func startBodyClock() {
        bodyClock?.resume(now: core.now())
        deadline.store(bodyClock?.deadline ?? .max, ordering: .relaxed)
    }

    private func setBodyClock(_ request: Request) {
        let rate = Int64(core.configuration.minimumBodyRate)
        bodyClock =
            if request.hasBody, let grace = core.requestMilliseconds, rate > 0 {
                BodyClock(
                    now: core.now(), grace: grace, limit: core.configuration.inactivityTimeout.milliseconds,
                    bytesPerSecond: rate)
            } else {
                nil
            }
        isAwaited.store(bodyClock != nil, ordering: .relaxed)
        deadline.store(bodyClock?.deadline ?? .max, ordering: .relaxed)
    }
}

extension Connection: SuspensionOwner {
    /// Has no effect, because `comeAgain()` resumes the connection at once in any case.
    func clientLeft() {}
}
