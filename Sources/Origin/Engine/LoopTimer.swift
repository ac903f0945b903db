/// The loop's clock, and the next time at which the loop must check time limits. Confined to a single thread of the
/// client.
final class LoopTimer {
    typealias Instant = ContinuousClock.Instant

    private let clock: @Sendable () -> Instant
    /// The earliest noted deadline; `nil` without deadlines. No time limit and no pause ends earlier.
    private(set) var next: Instant?

    /// Creates a timer without deadlines.
    ///
    /// - Parameter clock: returns the current time, which never goes back.
    init(clock: @escaping @Sendable () -> Instant) {
        self.clock = clock
    }

    var now: Instant { clock() }

    /// Notes a deadline; ignores `nil`.
    func note(_ deadline: Instant?) {
        guard let deadline else { return }
        next = next.map { min($0, deadline) } ?? deadline
    }

    /// Whether the earliest deadline has passed. If so, all deadlines are forgotten, and the caller notes the remaining
    /// deadlines again.
    func isDue(_ now: Instant) -> Bool {
        guard let next, next <= now else { return false }
        self.next = nil
        return true
    }
}
