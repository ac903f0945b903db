/// The loop's clock, and the next time that it has to look at time limits. Confined to one of the client's threads.
final class LoopTimer {
    typealias Instant = ContinuousClock.Instant

    private let clock: @Sendable () -> Instant
    /// No time limit or pause ends before this; `nil` when there is none.
    private(set) var next: Instant?

    /// - Parameter clock: tells the time, which only goes forwards.
    init(clock: @escaping @Sendable () -> Instant) {
        self.clock = clock
    }

    /// The clock's time.
    var now: Instant { clock() }

    /// Something may have to be done at this time.
    func note(_ deadline: Instant?) {
        guard let deadline else { return }
        next = next.map { min($0, deadline) } ?? deadline
    }

    /// Whether what was noted has come; if so it is forgotten, and what is still ahead has to be noted again.
    func isDue(_ now: Instant) -> Bool {
        guard let next, next <= now else { return false }
        self.next = nil
        return true
    }
}
