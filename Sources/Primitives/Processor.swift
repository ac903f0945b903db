import Foundation

/// The processor that the calling thread has.
public enum Processor {
    private static let turn: Int64 = 200_000

    /// Of ``turnStart``, as a pointer that is none.
    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        let code = pthread_key_create(&key, nil)
        precondition(code == 0, "no room for a thread-specific value: \(code)")
        return key
    }()

    /// Offers the processor to whoever waits for one, when the thread has not done so for 200 µs; else it costs a
    /// look at the clock.
    ///
    /// To be called once a step by work of many steps, such as a listing or a purge. The kernel takes the processor of
    /// a thread that never waits at a tick only, every 4 ms, and whoever asks for what is at hand should not see that.
    public static func offer() {
        guard nanoseconds() - turnStart >= turn else { return }
        sched_yield()
        turnStart = nanoseconds()
    }

    /// Has ``offer()`` do nothing on the calling thread until ``share()``.
    ///
    /// For what somebody waits for, who should not wait for everybody who computes, too.
    public static func keep() {
        turnStart = .max
    }

    /// Has ``offer()`` offer the calling thread's processor again, as where ``keep()`` was never called; the first time
    /// in 200 µs.
    public static func share() {
        turnStart = nanoseconds()
    }

    /// When the calling thread last offered its processor; 0 is never, and the end of time while it keeps it.
    package private(set) static var turnStart: Int64 {
        get { Int64(Int(bitPattern: pthread_getspecific(key))) }
        set { pthread_setspecific(key, UnsafeRawPointer(bitPattern: Int(newValue))) }
    }

    /// Nanoseconds since some fixed instant, on a clock that no one sets, exact to about one.
    public static func nanoseconds() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
