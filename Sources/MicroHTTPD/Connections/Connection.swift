import CMicroHTTPD
import Foundation
import Primitives
import Synchronization

/// One client's TCP connection, for as long as libmicrohttpd serves it: its deadlines, and the request that is on it.
///
/// Invariants: every method not said to be called from anywhere is called on the one libmicrohttpd thread that serves
/// the connection, so the variables without a lock are that thread's own. The watcher's thread uses the atomics and
/// calls what is said to be called from anywhere; `openDescriptor` is locked, because the kernel gives a closed number
/// to the next connection.
///
/// `@unchecked Sendable` is safe for these reasons.
final class Connection: @unchecked Sendable {
    /// Stands for the connection wherever it may have ended meanwhile.
    let id: UInt64
    let core: DaemonCore
    /// Who serves it.
    private let thread: ServingThread
    /// Which of ``ServingThreads`` that is.
    let threadIndex: Int
    let remoteAddress: RemoteAddress
    /// libmicrohttpd's own object, alive until the connection is closed.
    let handle: OpaquePointer
    /// The socket. Only to be used where the connection cannot be closed meanwhile: on its thread, or while suspended.
    let descriptor: Int32
    /// `nil` on a connection without TLS.
    private let tls: TLSSession?

    /// When the client is cut off, in milliseconds of ``DaemonCore/now()``; `Int64.max` is never.
    let deadline: Atomic<Int64>
    /// Whether there is a request whose first line has come and whose answer is not complete.
    let isBusy = Atomic<Bool>(false)
    /// Whether an answer is under way: libmicrohttpd has it, and the kernel has not all of it.
    let isAnswering = Atomic<Bool>(false)
    /// Whether the client has closed at least its sending side.
    let hasHungUp = Atomic<Bool>(false)
    /// How many bytes have come from it.
    let receivedCount = Atomic<UInt64>(0)

    /// What was sent in all, once the socket is about to be closed; see ``sentBytes``.
    let sentAtClose = Atomic<Int64>(0)

    /// Whether libmicrohttpd waits for the rest of a request, and says nothing itself: of the first one from the
    /// beginning, of others as long as their bodies come.
    private let isAwaited = Atomic<Bool>(true)
    /// Whether the client was given up on, and nothing that it still sends is worth reading.
    private let isCutOff = Atomic<Bool>(false)
    /// Whether a request has, or may have, a body that is not complete.
    private var isBodyIncomplete = false

    /// The socket, or -1 once it may be closed.
    let openDescriptor: Locked<Int32>

    /// The target as it was sent, from the request line until the head is complete. Reused by every request.
    private var target = UnsafeMutableRawBufferPointer(start: nil, count: 0)
    private var targetCount = 0
    /// What the handler made of it.
    private var expectation = 0

    /// What has come, byte by byte.
    let requests = RequestBytes()
    private var exchange: Exchange?
    /// The answer that was at hand when the head was complete, until it is queued.
    private var ready: Response?
    private var patience = Patience.untried
    /// `nil` when the body may take as long as it likes. While the connection is suspended, of whoever is about to
    /// resume it.
    private var bodyClock: BodyClock?

    /// How often the handler was asked for an answer at hand: see ``ReadyResponse/soon``.
    private enum Patience {
        case untried
        /// Once; it will be soon. A connection can only be suspended in libmicrohttpd's second call.
        case toldSoon
        /// The connection has waited for its turn.
        case tried
    }

    init(handle: OpaquePointer, thread index: Int, core: DaemonCore) {
        self.handle = handle
        self.core = core
        // libmicrohttpd says that a connection has begun on the thread that will serve it.
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

    /// Copies the target, which is cut up in place after this call, and ends it at its `?`: nobody looks at the
    /// arguments that libmicrohttpd would find there, but each would take a record of the connection's memory.
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

    /// Takes a piece of the body. False closes the connection.
    func receive(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let exchange else { return false }
        if bodyClock != nil { bodyClock?.receive(bytes.count, now: core.now()) }
        deadline.store(bodyClock?.deadline ?? .max, ordering: .relaxed)
        if exchange.receiveBody(bytes) { return true }
        isCutOff.store(true, ordering: .relaxed)
        return false
    }

    /// Does the next step of the request: shows its head to the handler, or has it answered. False closes the
    /// connection.
    func proceed(_ line: RequestLine) -> Bool {
        if let ready {
            self.ready = nil
            return queueReady(ready)
        }
        if let exchange {
            deadline.store(.max, ordering: .relaxed)
            isAwaited.store(false, ordering: .relaxed)
            // It comes here unread, too, when the answer took a while.
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

    /// The head is complete.
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
                // Not at once: an answer to the first call closes the connection.
                if isFirstCall { ready = response } else { return queueReady(response) }
                return true
            case .soon where isFirstCall:
                patience = .toldSoon
                return true
            case .soon, .none: break
            }
        }
        let request = Request(line, target: target, fields: fields, check: check, remoteAddress: remoteAddress)
        // With a defect nobody knows where the request ends.
        isBodyIncomplete = request.hasBody || request.defect != nil
        setBodyClock(request)
        switch core.handler.receive(request) {
        case .refuse(let response):
            // Answered on the first call: libmicrohttpd closes the connection after it, the body unread.
            deadline.store(.max, ordering: .relaxed)
            isAwaited.store(false, ordering: .relaxed)
            if request.defect?.leavesNoRoom == true, let bytes = response.wireForm(toHead: request.isHead) {
                // libmicrohttpd would close the connection without a word if its memory had no room for this. It does
                // not know of it, and logs "Application reported internal error, closing connection." for the `false`.
                _ = sendPastLibrary(bytes)
                return false
            }
            return queue(response.prepared(for: request, on: self))
        case .accept(let policy, let action):
            let exchange = Exchange(request: request, connection: self, policy: policy, action: action)
            self.exchange = exchange
            // Nobody calls again for one that has waited.
            guard exchange.isRefusedUnread || !isFirstCall else { return true }
            // As with a refusal, the connection closes after the answer to the first call.
            deadline.store(.max, ordering: .relaxed)
            isAwaited.store(false, ordering: .relaxed)
            return exchange.proceed()
        }
    }

    /// Ready for the next request, if there can be one.
    ///
    /// - Parameter isWhole: whether the answer was sent whole; if not, the connection ends.
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

    /// libmicrohttpd ends the connection in this very round. It says so of an answer that is not whole; of one that it
    /// takes for whole, whoever knows better notes it.
    func noteEnd() { thread.lookAgain(at: handle) }

    /// The descriptor is about to be closed. Whether the client may have more to send, so that closing it would reset
    /// the connection before the client has seen its answer.
    func close() -> Bool {
        thread.noteClose(of: handle, descriptor: descriptor)
        openDescriptor.withLock { $0 = -1 }
        if isCutOff.load(ordering: .relaxed) { return false }
        var byte: UInt8 = 0
        let count = recv(descriptor, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT))
        guard count > 0 || (count < 0 && errno == EAGAIN && isBodyIncomplete) else { return false }
        // Of TLS libmicrohttpd has only closed what is inside: who waits for the end of the connection would wait for
        // as long as it lingers.
        if isSecure { _ = shutdown(descriptor, Int32(SHUT_WR)) }
        return true
    }

    // MARK: From anywhere

    /// Whether nothing can be said to the client past libmicrohttpd, but on the connection's own thread.
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
        // Under the lock, so that the number cannot become another connection's between the look and the call.
        openDescriptor.withLock { descriptor in
            if descriptor >= 0 { _ = shutdown(descriptor, Int32(SHUT_RDWR)) }
        }
    }

    /// ``shutDown()`` of a client that took too long; it is told so where libmicrohttpd has nothing to say meanwhile.
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

    /// Whether the target that has come, if it has, is longer than it may be.
    var isTargetTooLong: Bool {
        !isBusy.load(ordering: .relaxed) || targetCount > core.configuration.targetLimit
    }

    /// The request was refused, and its client may have more of it to send.
    func noteRefusal() {
        isBodyIncomplete = true
    }

    /// Sends a whole answer that libmicrohttpd does not know of, on the connection's thread.
    func sendPastLibrary(_ bytes: [UInt8]) -> Bool {
        tls?.send(bytes) ?? sendWhole(bytes)
    }

    // MARK: For the exchange

    /// Hands an answer to libmicrohttpd. False when it does not take it.
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

    /// Has libmicrohttpd call for this request once more, after it has seen to every connection that has something for
    /// it. False, and nothing done, when the daemon is stopping.
    private func comeAgain() -> Bool {
        guard let suspension = core.suspensions.suspend(self, owner: self) else { return false }
        core.suspensions.resume(suspension)
        return true
    }

    /// Nothing of the body is read any more.
    func stopBodyClock() {
        bodyClock?.stop(now: core.now())
        deadline.store(.max, ordering: .relaxed)
    }

    /// The body is about to be read again: called before the connection is resumed, from any thread.
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
    /// Nothing: it is resumed at once, whoever leaves.
    func clientLeft() {}
}
