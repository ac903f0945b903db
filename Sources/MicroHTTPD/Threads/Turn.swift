/// The time for which a thread that never waits keeps its processor, in nanoseconds of a monotonic clock.
///
/// A thread with more clients than it can serve finds the next request each time it asks. It never waits then, and the
/// kernel takes its processor away only at a tick, after up to 4 ms. The clients of every other thread stand still
/// meanwhile, which is the delay of the slowest among a hundred clients. So the thread offers its processor after a
/// short turn. The processor may go to an unrelated thread that computes and keeps it until the next tick. Then turns
/// become longer, so that the serving thread gets about as much of the processor as the kernel would have given it.
///
/// Only answers that were at hand count. For other answers the thread waits for other threads anyway, or they wait for
/// it, and offering the processor has cost more than it gained. See docs/design.md for the figures.
struct Turn {
    static let shortest: Int64 = 200_000
    static let longest: Int64 = 6_400_000
    /// After a longer absence the processor was with an unrelated thread: serving threads return it sooner.
    static let stranger: Int64 = 1_000_000

    /// Whether the thread has given an answer that was at hand in this turn.
    var hasAnswered = false
    private var start: Int64 = 0
    private var length = Self.shortest
    /// How often the thread had waited when the turn began.
    private var waits = 0

    /// Called between two rounds. If the thread has waited since the turn began, for any reason, a new turn begins now.
    /// `waits` returns how often the thread has waited since it began; it is called only when the result depends on it.
    mutating func isOver(now: Int64, waits: () -> Int) -> Bool {
        guard hasAnswered, now - start >= length else { return false }
        let count = waits()
        guard count != self.waits else { return true }
        self.waits = count
        length = Self.shortest
        begin(now)
        return false
    }

    /// The processor was offered at `left`, and the thread has it back.
    mutating func resume(left: Int64, now: Int64) {
        length = now - left > Self.stranger ? min(length * 2, Self.longest) : Self.shortest
        begin(now)
    }

    private mutating func begin(_ now: Int64) {
        start = now
        hasAnswered = false
    }
}
