import CMicroHTTPD
import Glibc
import Primitives
import Synchronization

/// One client's TCP connection, for as long as libmicrohttpd serves it. ``ConnectionDriver`` drives its requests.
///
/// Invariants, which make `@unchecked Sendable` safe: any thread may call a method, unless its comment names a thread.
/// `openDescriptor` is locked, because the kernel reuses the number of a closed descriptor. `bodyClock` belongs to the
/// thread that serves the connection, and during a suspension to the thread that is about to resume it.
final class Connection: @unchecked Sendable {
    /// Identifies the connection in code that may run after the connection has ended.
    let id: UInt64
    let remoteAddress: IPAddress?
    /// libmicrohttpd's object for the connection, alive until the connection is closed.
    let handle: OpaquePointer
    /// Use it only on the connection's thread or during a suspension, because the connection cannot be closed then.
    let descriptor: Int32
    private let tls: TLSSession?
    private let thread: ServingThread
    private let suspensions: Suspensions
    private let now: @Sendable () -> Int64

    /// The time at which the client is cut off, in milliseconds of ``DaemonConfiguration/now``; `Int64.max` is never.
    let deadline: Atomic<Int64>
    /// Whether the first line of a request has arrived, and the request's answer is not complete.
    let isBusy = Atomic<Bool>(false)
    /// Whether libmicrohttpd has an answer, and the kernel does not have all bytes of this answer.
    let isAnswering = Atomic<Bool>(false)
    /// Whether libmicrohttpd waits for the rest of a request and does not send: from the beginning of the connection
    /// until the first head is complete, and while a body with a ``BodyClock`` arrives.
    let isAwaited = Atomic<Bool>(true)
    /// Whether the client has closed at least its sending side.
    let hasHungUp = Atomic<Bool>(false)
    /// Whether the server has cut off the client. The socket of such a client is closed without lingering.
    let isCutOff = Atomic<Bool>(false)
    let receivedCount = Atomic<UInt64>(0)
    /// The value that ``sentBytes`` keeps after the close; set just before the socket is closed.
    let sentAtClose = Atomic<Int64>(0)
    /// The descriptor; -1 from ``close(isBodyIncomplete:)`` on, because another socket may then get the same number.
    let openDescriptor: Locked<Int32>
    /// `nil` if no minimum rate applies to the body.
    private var bodyClock: BodyClock? {
        didSet { deadline.store(bodyClock?.deadline ?? .max, ordering: .relaxed) }
    }

    init(
        handle: OpaquePointer, id: UInt64, thread: ServingThread, suspensions: Suspensions, deadline: Int64,
        now: @escaping @Sendable () -> Int64, remoteAddress: IPAddress?, tls: TLSSession?
    ) {
        self.handle = handle
        self.id = id
        self.thread = thread
        self.suspensions = suspensions
        self.deadline = Atomic(deadline)
        self.now = now
        self.remoteAddress = remoteAddress
        self.tls = tls
        descriptor = cmhd_descriptor(handle)
        openDescriptor = Locked(descriptor)
    }

    /// Makes the thread look at the connection again, because libmicrohttpd closes an ended connection only at an
    /// event. Called on the connection's thread after an answer that is incomplete, or that only the close ends.
    func noteEnd() { thread.lookAgain(at: handle) }

    /// Called on the connection's thread when the descriptor is about to be closed. `isBodyIncomplete`: a request has,
    /// or may have, an incomplete body. Returns whether the client may have more to send. If so, the socket must
    /// linger, because an immediate close would reset the connection before the client has read the answer.
    func close(isBodyIncomplete: Bool) -> Bool {
        thread.noteClose(of: handle, descriptor: descriptor)
        openDescriptor.withLock { $0 = -1 }
        if isCutOff.load(ordering: .relaxed) { return false }
        let count = Self.peek(descriptor)
        guard count > 0 || (count < 0 && errno == EAGAIN && isBodyIncomplete) else { return false }
        // libmicrohttpd closed only the TLS session. Without `shutdown` the client might wait while the socket lingers.
        if isSecure { _ = shutdown(descriptor, Int32(SHUT_WR)) }
        return true
    }

    /// Whether the connection has TLS, so that only its own thread may send bytes without libmicrohttpd.
    var isSecure: Bool { tls != nil }

    /// Returns `nil` if the socket may be closed. The lock keeps the kernel from reusing the number during `body`.
    private func withOpenDescriptor<Result: Sendable>(_ body: (Int32) -> Result?) -> Result? {
        openDescriptor.withLock { $0 >= 0 ? body($0) : nil }
    }

    /// 1 if bytes wait to be read, 0 at the end of the stream, -1 if there is no byte, or on an error.
    private static func peek(_ descriptor: Int32) -> Int {
        var byte: UInt8 = 0
        return recv(descriptor, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT))
    }

    /// Whether the socket holds bytes that libmicrohttpd has not read.
    var hasUnread: Bool { withOpenDescriptor { Self.peek($0) > 0 } ?? false }

    /// Cuts the client off: libmicrohttpd sees the end of the connection and closes it.
    func shutDown() {
        isCutOff.store(true, ordering: .relaxed)
        _ = withOpenDescriptor { shutdown($0, Int32(SHUT_RDWR)) }
    }

    /// Cuts the client off. Sends `answer` first if libmicrohttpd waits for the rest of a request, and does not send.
    func cutOff(with answer: [UInt8]) {
        if isAwaited.load(ordering: .relaxed), !answer.isEmpty { _ = withOpenDescriptor { Self.send(answer, to: $0) } }
        shutDown()
    }

    /// Sends without waiting. Returns the number of bytes that the kernel took, or -1.
    static func send(_ bytes: [UInt8], to descriptor: Int32) -> Int {
        Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_DONTWAIT | MSG_NOSIGNAL))
    }

    /// Sends a whole answer without libmicrohttpd, on the connection's thread. Returns whether all bytes were sent.
    func sendPastLibrary(_ bytes: [UInt8]) -> Bool {
        tls?.send(bytes) ?? sendWhole(bytes)
    }

    /// Called from within one of libmicrohttpd's callbacks; see ``Suspensions/suspend(_:id:owner:)``.
    func suspend(owner: any SuspensionOwner) -> Suspension? {
        let suspension = suspensions.suspend(handle, id: id, owner: owner)
        if suspension != nil, hasHungUp.load(ordering: .acquiring) { owner.clientLeft() }
        return suspension
    }

    func resume(_ suspension: Suspension) {
        suspensions.resume(suspension)
    }

    /// Makes libmicrohttpd serve other connections, then call `handleRequest` again. False if the daemon is stopping.
    func comeAgain() -> Bool {
        guard let suspension = suspend(owner: self) else { return false }
        resume(suspension)
        return true
    }

    /// Starts the deadline of a body; `nil` is no deadline. Called on the connection's thread.
    func beginBody(_ clock: BodyClock?) {
        bodyClock = clock
        isAwaited.store(clock != nil, ordering: .relaxed)
    }

    /// Called on the connection's thread.
    func countBody(_ byteCount: Int) { bodyClock?.receive(byteCount, now: now()) }
    func stopBodyClock() { bodyClock?.stop(now: now()) }
    /// Called before the connection is resumed.
    func startBodyClock() { bodyClock?.resume(now: now()) }
}

extension Connection: SuspensionOwner {
    /// Has no effect, because ``comeAgain()`` resumes the connection at once in any case.
    func clientLeft() {}

    /// `nil` if the kernel does not tell, or the socket is closed.
    func sendProgress() -> SendProgress? {
        withOpenDescriptor { descriptor in
            var taken: UInt64 = 0
            var waiting: UInt64 = 0
            guard cmhd_send_progress(descriptor, &taken, &waiting) else { return nil }
            return SendProgress(taken: Int64(clamping: taken), waiting: Int64(clamping: waiting))
        }
    }

    /// The bytes of heads, bodies and TLS that the client has acknowledged. After ``noteSent()``, includes the bytes
    /// that the client had not acknowledged at that call. Never decreases; 0 where the kernel does not count.
    var sentBytes: Int64 { max(sendProgress()?.taken ?? 0, sentAtClose.load(ordering: .relaxed)) }

    /// Called when the socket is about to be closed, because the kernel cannot be asked afterwards.
    func noteSent() {
        guard let progress = sendProgress() else { return }
        sentAtClose.store(progress.taken + progress.waiting, ordering: .relaxed)
    }

    /// Ends the connection of a client that does not read its answer, and drops the unsent bytes.
    func giveUpSending() {
        dropUnsent()
        shutDown()
    }

    /// Makes a close drop the unsent bytes. By default the kernel keeps offering these bytes while the client responds.
    func dropUnsent() {
        var option = linger(l_onoff: 1, l_linger: 0)
        _ = withOpenDescriptor {
            setsockopt($0, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
        }
    }

    /// Makes libmicrohttpd see that the client has closed its sending side. libmicrohttpd's epoll is edge-triggered, so
    /// it misses a hang-up that arrives together with the last bytes. Closing the receiving side causes a new event,
    /// and has no other effect: a complete request is answered as usual. Returns false, without effect, while the
    /// socket has bytes to read, because libmicrohttpd would miss the new event, too.
    func showEnd() -> Bool {
        withOpenDescriptor { descriptor in
            if Self.peek(descriptor) > 0 { return false }
            _ = shutdown(descriptor, Int32(SHUT_RD))
            return true
        } ?? true
    }

    /// Writes to the socket past libmicrohttpd, without encryption. Returns false if the socket has no room for all
    /// `bytes`; after a partial write, shuts the connection down. The caller ensures two things: the connection cannot
    /// be closed during the call, and libmicrohttpd has written all its output, because the request has no answer yet.
    func sendWhole(_ bytes: [UInt8]) -> Bool {
        let count = Self.send(bytes, to: descriptor)
        // After a partial write, the client would take the next bytes for the rest of the incomplete message.
        if count > 0, count < bytes.count { shutDown() }
        return count == bytes.count
    }
}

protocol SuspensionOwner: AnyObject, Sendable {
    /// Called when the client has gone or the daemon gives up. The owner must resume the connection without delay. The
    /// call may come on any thread, more than once, and even before ``Connection/suspend(owner:)`` has returned.
    func clientLeft()
}

/// The right, and the duty, to resume one suspended connection once. `@unchecked Sendable` is safe because
/// `MHD_resume_connection` may be called from any thread, and the connection cannot go away while it is suspended.
struct Suspension: @unchecked Sendable {
    fileprivate let id: UInt64
    fileprivate let handle: OpaquePointer
}

/// Tells the owners of suspended connections about clients that leave, because libmicrohttpd does not notice them.
///
/// Invariants, all under the same lock:
/// - `suspend` adds an owner to `waiting` before it calls `MHD_suspend_connection`. `resume` removes the owner, and
///   counts the connection in `resuming` until `MHD_resume_connection` has returned. If `waiting` and `resuming` are
///   empty and `isClosed` is set, no thread is about to suspend or resume a connection, and the daemon may be stopped.
/// - The suspending thread adds the owner to `waiting` and then reads the connection's `hasHungUp`. The watcher's
///   thread sets `hasHungUp` and then reads `waiting`. So at least one thread notices a client that leaves in between.
final class Suspensions: Sendable {
    private struct State {
        var waiting: [UInt64: any SuspensionOwner] = [:]
        var resuming = 0
        var isClosed = false
    }

    private let state = Locked(State())

    /// Called from within a callback for the connection. `nil`, without effect, if the daemon is stopping.
    func suspend(_ handle: OpaquePointer, id: UInt64, owner: any SuspensionOwner) -> Suspension? {
        let isOpen = state.withLock { state in
            if !state.isClosed { state.waiting[id] = owner }
            return !state.isClosed
        }
        guard isOpen else { return nil }
        MHD_suspend_connection(handle)
        return Suspension(id: id, handle: handle)
    }

    func resume(_ suspension: Suspension) {
        let owner = state.withLock { state in
            state.resuming += 1
            return state.waiting.removeValue(forKey: suspension.id)
        }
        precondition(owner != nil, "a connection was resumed twice")
        MHD_resume_connection(suspension.handle)
        state.withLock { $0.resuming -= 1 }
    }

    /// Tells the owner, if any, that its client has left. The caller has set the connection's `hasHungUp`.
    func clientLeft(_ id: UInt64) {
        state.withLock { $0.waiting[id] }?.clientLeft()
    }

    func contains(_ id: UInt64) -> Bool {
        state.withLock { $0.waiting[id] != nil }
    }

    /// Tells all owners that their clients have left, and refuses further suspensions.
    func hangUpAll() {
        let owners = state.withLock { state in
            state.isClosed = true
            return Array(state.waiting.values)
        }
        for owner in owners { owner.clientLeft() }
    }

    /// Whether no connection is suspended and no thread is resuming one.
    var isEmpty: Bool { state.withLock { $0.waiting.isEmpty && $0.resuming == 0 } }
}
