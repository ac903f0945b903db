import CMicroHTTPD
import Foundation
import Primitives

/// One of libmicrohttpd's threads that serve connections: how it waits for the next round. A round is what the kernel
/// tells of at a time, and everything that is done for it.
///
/// Invariant: only the thread itself uses it, and the connections that it serves, on it.
final class ServingThread {
    private var turn = Turn()
    /// The epoll descriptor of which the kernel has just told as much as there was room for; -1 is none.
    private var full: Int32 = -1
    /// See ``lookAgain(at:)``.
    private var unfinished: Set<OpaquePointer> = []
    /// By the numbers of their sockets, the connections that it serves. They are kept alive elsewhere.
    private var connections = UnsafeMutableBufferPointer<Unmanaged<Connection>?>(start: nil, count: 0)
    /// Gives the processor to whoever waits for one.
    private let yield: () -> Void

    init(yield: @escaping () -> Void = { sched_yield() }) {
        self.yield = yield
    }

    deinit {
        connections.deallocate()
    }

    /// It has given an answer that was at hand.
    func noteAnswer() { turn.hasAnswered = true }

    /// To be called when libmicrohttpd is about to end a connection: at its next wait it is told that the client has
    /// hung up, unless it has closed the socket by then.
    ///
    /// Where the body's reader ends the connection, 0.9.75 only marks it as closed, and closes the socket when
    /// something happens to that. Nothing does, whatever the client does, when the connection has been suspended and
    /// has not had to wait for its socket since: then that is not in the epoll, and would hold its place until the
    /// inactivity limit.
    func lookAgain(at connection: OpaquePointer) { unfinished.insert(connection) }

    /// It serves a connection from now on, until ``noteClose(of:descriptor:)``.
    func noteStart(of connection: Connection) {
        let index = Int(connection.descriptor)
        if index >= connections.count { growConnections(to: index + 64) }
        connections[index] = .passUnretained(connection)
    }

    /// An array in its place would be checked for exclusive access at each read.
    private func growConnections(to count: Int) {
        let grown = UnsafeMutableBufferPointer<Unmanaged<Connection>?>.allocate(capacity: count)
        let rest = grown[grown.initialize(fromContentsOf: connections)...]
        rest.initialize(repeating: nil)
        connections.deallocate()
        connections = grown
    }

    /// libmicrohttpd closes that connection's socket.
    func noteClose(of connection: OpaquePointer, descriptor: Int32) {
        unfinished.remove(connection)
        if connections.indices.contains(Int(descriptor)) { connections[Int(descriptor)] = nil }
    }

    /// The connection with that socket; `nil` when this thread does not serve it.
    func connection(of descriptor: Int32) -> Unmanaged<Connection>? {
        let index = Int(descriptor)
        return connections.indices.contains(index) ? connections[index] : nil
    }

    /// What `epoll_wait` does, with three differences.
    ///
    /// Connections to ``lookAgain(at:)`` come first, as hung up: that is the only event by which libmicrohttpd looks at
    /// one that it has marked as closed.
    ///
    /// Where the kernel has told of as much as there was room for, it is asked for more without waiting.
    /// `MHD_epoll` of 0.9.75 has room for 128 events and asks until it is told of fewer before it serves anybody, but
    /// each time with the time-out that it begins with: when exactly 128, or 256 …, of a thread's connections have
    /// something at once, all of them would stand until something else happens to the thread, or their time is up.
    ///
    /// And a thread whose ``Turn`` is over offers its processor first.
    func wait(
        _ epoll: Int32, _ events: UnsafeMutablePointer<epoll_event>?, room: Int32, timeout: Int32
    ) -> Int32 {
        let wasFull = full == epoll
        if !wasFull { offerProcessor() }
        let count =
            unfinished.isEmpty
            ? epoll_pwait(epoll, events, room, wasFull ? 0 : timeout, nil) : showUnfinished(in: events, room: room)
        full = count == room ? epoll : -1
        return count
    }

    private func showUnfinished(in events: UnsafeMutablePointer<epoll_event>?, room: Int32) -> Int32 {
        guard let events else { return 0 }
        var count = 0
        while count < room, let connection = unfinished.popFirst() {
            events[count] = epoll_event(
                events: EPOLLHUP.rawValue, data: epoll_data_t(ptr: UnsafeMutableRawPointer(connection)))
            count += 1
        }
        return Int32(count)
    }

    private func offerProcessor() {
        let now = Processor.nanoseconds()
        guard turn.isOver(now: now, waits: cmhd_thread_waits) else { return }
        yield()
        turn.resume(left: now, now: Processor.nanoseconds())
    }
}

// MARK: Which thread is one

extension ServingThread {
    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        let code = pthread_key_create(&key) { Unmanaged<ServingThread>.fromOpaque($0!).release() }
        precondition(code == 0, "no room for a thread-specific value: \(code)")
        return key
    }()

    /// The calling thread's; `nil` where it does not serve connections.
    static var current: ServingThread? {
        pthread_getspecific(key).map { Unmanaged.fromOpaque($0).takeUnretainedValue() }
    }

    /// The calling thread's, which serves connections from now on if it did not yet.
    static func ofCaller() -> ServingThread {
        if let current { return current }
        let thread = ServingThread()
        pthread_setspecific(key, Unmanaged.passRetained(thread).toOpaque())
        return thread
    }
}

// MARK: How libmicrohttpd comes here

/// The process's `epoll_wait`, in front of the C library's, because that is what libmicrohttpd calls between two
/// rounds. For threads that do not serve connections it does what the C library's does.
@c(epoll_wait) @usableFromInline
func waitForEvents(
    _ epoll: Int32, _ events: UnsafeMutablePointer<epoll_event>?, _ room: Int32, _ timeout: Int32
) -> Int32 {
    guard let thread = ServingThread.current else { return epoll_pwait(epoll, events, room, timeout, nil) }
    return thread.wait(epoll, events, room: room, timeout: timeout)
}

extension ServingThread {
    /// Whether a library that looks for `epoll_wait`, `recv` and `gnutls_record_recv` finds the functions of this
    /// module: not where the executable does not export them, or where this module is in a library that was loaded
    /// after those that have them, too.
    static var isInFront: Bool {
        let wait: @convention(c) (Int32, UnsafeMutablePointer<epoll_event>?, Int32, Int32) -> Int32 = waitForEvents
        return dlsym(nil, "epoll_wait") == unsafeBitCast(wait, to: UnsafeMutableRawPointer.self) && receivesInFront
    }
}
