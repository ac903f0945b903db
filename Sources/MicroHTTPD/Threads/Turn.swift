/// How long a thread that never waits keeps its processor.
///
/// With more clients than it can serve a thread finds the next request each time it asks for one. It never waits then,
/// and the kernel takes its processor away at a tick only, after up to 4 ms, for which the clients of every other
/// thread stand still: that is what the slowest of a hundred of them see. So after a short turn it offers its processor
/// to whoever waits for one.
///
/// Who takes it may be a stranger that computes, and keeps it until the next tick. Then turns become longer, so that
/// the thread gets about as much of the processor as the kernel would have given it.
///
/// Only answers that were at hand count: with others the thread waits for other threads anyway, or they for what it
/// does for them, and giving the processor away has cost more than it brought. See docs/design.md for the figures.
///
/// All times are in nanoseconds of a clock that no one sets.
struct Turn {
    static let shortest: Int64 = 200_000
    static let longest: Int64 = 6_400_000
    /// Away for longer than this, the processor was a stranger's: threads that take turns, one or two of them a
    /// processor, are back sooner.
    static let stranger: Int64 = 1_000_000

    /// Whether it has given an answer that was at hand in this turn.
    var hasAnswered = false
    private var start: Int64 = 0
    private var length = Self.shortest
    /// How often the thread had waited when the turn began.
    private var waits = 0

    /// Whether the turn is over, to be asked between two rounds. When the thread has waited meanwhile, for whatever it
    /// was, it is not, and a new one begins now.
    ///
    /// - Parameter waits: how often the thread has waited since it began; asked for when it matters only.
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
