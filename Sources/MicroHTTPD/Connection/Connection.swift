import CMicroHTTPD
import Foundation
import Primitives
import Synchronization

/// One client's TCP connection, for as long as libmicrohttpd serves it. ``ConnectionDriver`` drives its requests.
///
/// Invariants, which make `@unchecked Sendable` safe: any thread may call a method, unless the comment of the method
/// names a thread. `openDescriptor` is locked, because the kernel gives the number of a closed descriptor to the next
/// connection. `bodyClock` belongs to the thread that serves the connection, and while the connection is suspended to
/// the thread that is about to resume it.
final class Connection: @unchecked Sendable {
    /// For code that may run after the connection has ended.
    let id: UInt64
    let remoteAddress: RemoteAddress
    /// Alive until the connection is closed.
    let handle: OpaquePointer
    /// For use where the connection cannot be closed meanwhile: on its thread, or while it is suspended.
    let descriptor: Int32
    private let tls: TLSSession?
    private let thread: ServingThread
    private let suspensions: Suspensions
    private let now: @Sendable () -> Int64

    /// The time at which the client is cut off, in milliseconds of ``DaemonConfiguration/now``; `Int64.max` is never.
    let deadline: Atomic<Int64>
    /// Whether the first line of a request has arrived and its answer is not complete.
    let isBusy = Atomic<Bool>(false)
    /// Whether an answer is under way: libmicrohttpd has it, and the kernel does not have all of it.
    let isAnswering = Atomic<Bool>(false)
    /// Whether libmicrohttpd waits for the rest of a request and does not send meanwhile. This holds for the first
    /// request from the beginning of the connection, and for later requests while their bodies arrive.
    let isAwaited = Atomic<Bool>(true)
    /// Whether the client has closed at least its sending side.
    let hasHungUp = Atomic<Bool>(false)
    /// Whether the client was cut off, so that its further bytes are not worth reading.
    let isCutOff = Atomic<Bool>(false)
    let receivedCount = Atomic<UInt64>(0)
    /// Set when the socket is about to be closed; see ``sentBytes``.
    let sentAtClose = Atomic<Int64>(0)
    /// -1 once the socket may be closed.
    let openDescriptor: Locked<Int32>
    /// `nil` if no minimum rate applies to the body.
    private var bodyClock: BodyClock?

    init(
        handle: OpaquePointer, id: UInt64, thread: ServingThread, suspensions: Suspensions, deadline: Int64,
        now: @escaping @Sendable () -> Int64, remoteAddress: RemoteAddress, tls: TLSSession?
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

    /// Notes that libmicrohttpd ends the connection in this round, on its thread. libmicrohttpd reports this itself for
    /// an incomplete answer; for an answer that it takes for complete, the body's source calls this.
    func noteEnd() { thread.lookAgain(at: handle) }

    /// Called on the connection's thread when the descriptor is about to be closed. `isBodyIncomplete` says whether a
    /// request has, or may have, an incomplete body. Returns whether the client may have more to send, in which case
    /// closing the descriptor would reset the connection before the client has seen its answer.
    func close(isBodyIncomplete: Bool) -> Bool {
        thread.noteClose(of: handle, descriptor: descriptor)
        openDescriptor.withLock { $0 = -1 }
        if isCutOff.load(ordering: .relaxed) { return false }
        var byte: UInt8 = 0
        let count = recv(descriptor, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT))
        guard count > 0 || (count < 0 && errno == EAGAIN && isBodyIncomplete) else { return false }
        // libmicrohttpd has closed the TLS session only; a client may wait for as long as the socket lingers.
        if isSecure { _ = shutdown(descriptor, Int32(SHUT_WR)) }
        return true
    }

    /// With TLS, bytes past libmicrohttpd can be sent on the connection's own thread only.
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

    /// Sends `answer` first, unless empty, if libmicrohttpd waits for the rest of a request and so cannot be sending.
    func cutOff(with answer: [UInt8]) {
        if isAwaited.load(ordering: .relaxed), !answer.isEmpty {
            openDescriptor.withLock { descriptor in
                if descriptor >= 0 { _ = send(descriptor, answer, answer.count, Int32(MSG_DONTWAIT | MSG_NOSIGNAL)) }
            }
        }
        shutDown()
    }

    /// Sends a whole answer that libmicrohttpd does not know of, on the connection's thread.
    func sendPastLibrary(_ bytes: [UInt8]) -> Bool {
        tls?.send(bytes) ?? sendWhole(bytes)
    }

    // MARK: Suspensions

    /// Called from within one of libmicrohttpd's callbacks; see ``Suspensions/suspend(_:id:owner:)``.
    func suspend(owner: any SuspensionOwner) -> Suspension? {
        let suspension = suspensions.suspend(handle, id: id, owner: owner)
        if suspension != nil, hasHungUp.load(ordering: .acquiring) { owner.clientLeft() }
        return suspension
    }

    func resume(_ suspension: Suspension) {
        suspensions.resume(suspension)
    }

    /// Makes libmicrohttpd call once more, after all connections with events. False, without effect, when stopping.
    func comeAgain() -> Bool {
        guard let suspension = suspend(owner: self) else { return false }
        resume(suspension)
        return true
    }

    // MARK: The deadline of a body

    /// Without a clock there is no deadline. Called on the connection's thread.
    func beginBody(_ clock: BodyClock?) {
        bodyClock = clock
        isAwaited.store(clock != nil, ordering: .relaxed)
        deadline.store(clock?.deadline ?? .max, ordering: .relaxed)
    }

    /// Called on the connection's thread.
    func countBody(_ byteCount: Int) {
        if bodyClock != nil { bodyClock?.receive(byteCount, now: now()) }
        deadline.store(bodyClock?.deadline ?? .max, ordering: .relaxed)
    }

    func stopBodyClock() {
        bodyClock?.stop(now: now())
        deadline.store(.max, ordering: .relaxed)
    }

    /// Called before the connection is resumed.
    func startBodyClock() {
        bodyClock?.resume(now: now())
        deadline.store(bodyClock?.deadline ?? .max, ordering: .relaxed)
    }
}

extension Connection: SuspensionOwner {
    /// Has no effect, because ``comeAgain()`` resumes the connection at once in any case.
    func clientLeft() {}

    /// `nil` if the kernel does not tell, or the socket is closed.
    func sendProgress() -> SendProgress? {
        openDescriptor.withLock { descriptor in
            var taken: UInt64 = 0
            var waiting: UInt64 = 0
            guard descriptor >= 0, cmhd_send_progress(descriptor, &taken, &waiting) else { return nil }
            return SendProgress(taken: Int64(clamping: taken), waiting: Int64(clamping: waiting))
        }
    }

    /// Bytes of heads, bodies and TLS that the client has acknowledged; after ``noteSent()`` also the bytes that were
    /// still on their way. Never falls; 0 where the kernel does not count.
    var sentBytes: Int64 { max(sendProgress()?.taken ?? 0, sentAtClose.load(ordering: .relaxed)) }

    /// Called when the socket is about to be closed, because the kernel cannot be asked afterwards.
    func noteSent() {
        guard let progress = sendProgress() else { return }
        sentAtClose.store(progress.taken + progress.waiting, ordering: .relaxed)
    }

    /// For a client that does not read its answer.
    func giveUpSending() {
        dropUnsent()
        shutDown()
    }

    /// Otherwise the kernel would offer the unsent bytes after the close, too, for as long as the client responds.
    func dropUnsent() {
        openDescriptor.withLock { descriptor in
            guard descriptor >= 0 else { return }
            var option = linger(l_onoff: 1, l_linger: 0)
            _ = setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
        }
    }

    /// Makes libmicrohttpd see that the client has closed its sending side. libmicrohttpd's epoll is edge-triggered: a
    /// hang-up that arrives together with the last bytes is never seen, and the library waits for the rest of an
    /// unfinished request until a deadline. Closing the receiving side as well has no effect on either party (a
    /// complete request is answered as usual), but it makes a new edge. Returns false, without effect, while the socket
    /// has bytes to read, because the new edge would be lost like the first.
    func showEnd() -> Bool {
        openDescriptor.withLock { descriptor in
            var byte: UInt8 = 0
            if descriptor < 0 { return true }
            if recv(descriptor, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT)) > 0 { return false }
            _ = shutdown(descriptor, Int32(SHUT_RD))
            return true
        }
    }
}

extension Connection {
    /// Writes to the socket past libmicrohttpd. Returns false if the socket has no room for all `bytes`: without any
    /// room no byte is sent, and after a partial write the connection is shut down. Not for a connection that
    /// ``isSecure``, because the bytes would not be encrypted.
    ///
    /// Call this only where the connection cannot be closed meanwhile, and while libmicrohttpd has a request without an
    /// answer. Then libmicrohttpd does not write itself, and all its earlier output is in the socket already.
    func sendWhole(_ bytes: [UInt8]) -> Bool {
        let count = bytes.withUnsafeBytes {
            send(descriptor, $0.baseAddress, $0.count, Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL))
        }
        // The client would take the next bytes for the rest of the incomplete message.
        if count > 0, count < bytes.count { shutDown() }
        return count == bytes.count
    }
}
