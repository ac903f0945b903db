import CSystem
import Foundation

package enum Processor {
    private static let turn: Int64 = 200_000

    /// The key of the thread-specific value that stores ``turnStart``, as a number in place of a pointer.
    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        let code = pthread_key_create(&key, nil)
        precondition(code == 0, "no room for a thread-specific value: \(code)")
        return key
    }()

    /// Yields the processor to other threads, if the calling thread has not yielded for 200 µs; otherwise only reads
    /// the clock. Work of many steps, such as a listing or a purge, calls this method at each step. Without these
    /// calls, the kernel would interrupt the thread only at a tick, every 4 ms, and hits must not wait that long.
    package static func offer() {
        guard nanoseconds() - turnStart >= turn else { return }
        sched_yield()
        turnStart = nanoseconds()
    }

    /// Turns ``offer()`` off on the calling thread, because latency-critical work must not yield to background work.
    package static func keep() {
        turnStart = .max
    }

    /// Turns ``offer()`` on again on the calling thread. It yields after 200 µs at the earliest.
    package static func share() {
        turnStart = nanoseconds()
    }

    /// The time of the thread's last yield; 0 before the first, and `Int64.max` while ``keep()`` applies.
    package private(set) static var turnStart: Int64 {
        get { Int64(Int(bitPattern: pthread_getspecific(key))) }
        set { pthread_setspecific(key, UnsafeRawPointer(bitPattern: Int(newValue))) }
    }

    /// The time of a clock that is never set; exact to about 1 ns.
    package static func nanoseconds() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}

/// A separate thread for a loop that blocks in the kernel.
package final class NamedThread: Sendable {
    private let isRunning = DispatchGroup()
    private let number = Locked<UInt?>(nil)

    /// For `name` see ``ThreadName/set(_:)``; `stackSize` is in bytes, `nil` for the system's default.
    package init(_ name: String, stackSize: Int? = nil, body: @escaping @Sendable () -> Void) {
        isRunning.enter()
        let thread = Thread { [self] in
            ThreadName.set(name)
            number.withLock { $0 = UInt(pthread_self()) }
            body()
            // The system may give the same number to another thread after this thread has ended.
            number.withLock { $0 = nil }
            isRunning.leave()
        }
        if let stackSize { thread.stackSize = stackSize }
        thread.start()
    }

    /// Whether the calling thread is this thread.
    package var isCurrent: Bool { number.withLock { $0 } == UInt(pthread_self()) }

    package func join() {
        isRunning.wait()
    }
}

package enum ThreadName {
    /// Names the calling thread, at most 15 bytes. Debuggers and `top -H` do not show the `Thread.name` of Foundation.
    package static func set(_ name: String) {
        csystem_name_this_thread(name)
    }
}
