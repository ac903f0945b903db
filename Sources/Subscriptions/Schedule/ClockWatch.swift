import Primitives

/// The latest time that a machine has seen, by which it notices that the wall clock has gone back.
struct ClockWatch: Hashable, Sendable {
    /// Threads may read the clock in one order and report in another.
    static let tolerance: Duration = .seconds(1)

    private(set) var latest: Timestamp

    init(_ latest: Timestamp) { self.latest = latest }

    /// The step by which the clock has gone back since the last call, as a negative duration; zero if it has not.
    mutating func observe(_ now: Timestamp) -> Duration {
        let step = now - latest
        guard step < .zero - Self.tolerance else {
            latest = max(latest, now)
            return .zero
        }
        latest = now
        return step
    }
}
