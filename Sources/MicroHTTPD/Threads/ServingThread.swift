import CMicroHTTPD
import Foundation
import Primitives

/// A libmicrohttpd thread that serves connections in rounds: it waits for a list of events from the kernel, and does
/// all work that these events cause. Only the thread itself uses the object.
final class ServingThread {
    private var turn = Turn()
    /// The epoll descriptor that returned the last list of events, if that list was full; otherwise -1.
    private var full: Int32 = -1
    /// The connections to report as hung up in the next round; see ``lookAgain(at:)``.
    private var unfinished: Set<OpaquePointer> = []
    /// The ``ConnectionDriver`` of each of this thread's connections, by the socket's descriptor; alive while in here.
    private var contexts = UnsafeMutableBufferPointer<UnsafeMutableRawPointer?>(start: nil, count: 0)
    private let yield: () -> Void

    init(yield: @escaping () -> Void = { sched_yield() }) {
        self.yield = yield
    }

    deinit {
        contexts.deallocate()
    }

    func noteAnswer() { turn.hasAnswered = true }

    /// Reports a connection as hung up in the next round, unless its socket is closed earlier. libmicrohttpd 0.9.75
    /// closes the socket of an ended connection only at an event, and after a suspension no event would come.
    func lookAgain(at connection: OpaquePointer) { unfinished.insert(connection) }

    /// Adds a connection until ``noteClose(of:descriptor:)``. `context` is the connection's ``ConnectionDriver``.
    func noteStart(_ context: UnsafeMutableRawPointer, descriptor: Int32) {
        let index = Int(descriptor)
        if index >= contexts.count { growContexts(to: index + 64) }
        contexts[index] = context
    }

    /// The table is no Swift array, because Swift would check each read of an array for exclusive access.
    private func growContexts(to count: Int) {
        let grown = UnsafeMutableBufferPointer<UnsafeMutableRawPointer?>.allocate(capacity: count)
        let rest = grown[grown.initialize(fromContentsOf: contexts)...]
        rest.initialize(repeating: nil)
        contexts.deallocate()
        contexts = grown
    }

    /// Called when libmicrohttpd is about to close the socket.
    func noteClose(of connection: OpaquePointer, descriptor: Int32) {
        unfinished.remove(connection)
        if contexts.indices.contains(Int(descriptor)) { contexts[Int(descriptor)] = nil }
    }

    /// `nil` if this thread does not serve the connection.
    func context(of descriptor: Int32) -> UnsafeMutableRawPointer? {
        let index = Int(descriptor)
        return contexts.indices.contains(index) ? contexts[index] : nil
    }

    /// Waits for events like `epoll_wait`, with three differences (see docs/design.md for the figures):
    /// - Connections passed to ``lookAgain(at:)`` come first, reported as hung up.
    /// - After a full list (128 events) it does not wait, because `MHD_epoll` of 0.9.75 repeats the call with the same
    ///   time-out until a list is not full, and only then serves connections.
    /// - At the end of its ``Turn``, the thread yields its processor before it waits.
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

extension ServingThread {
    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        let code = pthread_key_create(&key) { Unmanaged<ServingThread>.fromOpaque($0!).release() }
        precondition(code == 0, "no room for a thread-specific value: \(code)")
        return key
    }()

    /// `nil` if the calling thread does not serve connections. The thread-specific value retains the object.
    static var current: Unmanaged<ServingThread>? {
        pthread_getspecific(key).map { .fromOpaque($0) }
    }

    /// Creates the object if there is none. From then on the thread counts as serving connections.
    static func ofCaller() -> ServingThread {
        if let current { return current.takeUnretainedValue() }
        let thread = ServingThread()
        pthread_setspecific(key, Unmanaged.passRetained(thread).toOpaque())
        return thread
    }
}

/// Replaces the C library's `epoll_wait` in this process, because libmicrohttpd calls `epoll_wait` between two rounds.
/// For threads that do not serve connections it behaves like the C library's.
@c(epoll_wait) @usableFromInline
func waitForEvents(
    _ epoll: Int32, _ events: UnsafeMutablePointer<epoll_event>?, _ room: Int32, _ timeout: Int32
) -> Int32 {
    guard let thread = ServingThread.current else { return epoll_pwait(epoll, events, room, timeout, nil) }
    return thread._withUnsafeGuaranteedRef { $0.wait(epoll, events, room: room, timeout: timeout) }
}

extension ServingThread {
    /// Whether the dynamic linker finds the function of this file under the name `epoll_wait`.
    static var waitsInFront: Bool {
        let wait: @convention(c) (Int32, UnsafeMutablePointer<epoll_event>?, Int32, Int32) -> Int32 = waitForEvents
        return dlsym(nil, "epoll_wait") == unsafeBitCast(wait, to: UnsafeMutableRawPointer.self)
    }
}

/// The time for which a thread that never waits keeps its processor, in nanoseconds of a monotonic clock. The kernel
/// takes the processor away from such a thread only at a tick, after up to 4 ms, while the clients of all other threads
/// wait. So the thread yields the processor after a short turn. The turn's length doubles each time an unrelated thread
/// gets the processor. A turn without ready answers never ends: yielding cost more than it gained (docs/design.md).
struct Turn {
    static let shortest: Int64 = 200_000
    static let longest: Int64 = 6_400_000
    /// If a thread waits longer than this for its processor, an unrelated thread had it: serving threads yield sooner.
    static let stranger: Int64 = 1_000_000
    /// Whether the thread has given a ready answer in this turn.
    var hasAnswered = false
    private var start: Int64 = 0
    private var length = Self.shortest
    /// How often the thread had waited when the turn began.
    private var waits = 0

    /// Called between two rounds. Returns whether the turn has a ready answer and has lasted its time. If the thread
    /// has waited in this turn, for any reason, a new turn begins instead. `waits` returns the number of its waits.
    mutating func isOver(now: Int64, waits: () -> Int) -> Bool {
        guard hasAnswered, now - start >= length else { return false }
        let count = waits()
        guard count != self.waits else { return true }
        self.waits = count
        length = Self.shortest
        begin(now)
        return false
    }

    /// Begins a turn after the thread yielded the processor at `left` and got it back at `now`.
    mutating func resume(left: Int64, now: Int64) {
        length = now - left > Self.stranger ? min(length * 2, Self.longest) : Self.shortest
        begin(now)
    }

    private mutating func begin(_ now: Int64) {
        start = now
        hasAnswered = false
    }
}
