/// Decides how many bytes the memory tier may hold while memory is short. The policy has no clock and does no I/O.
/// After some time without a sign, the limit grows back in steps, so that the tier does not cause the next sign itself.
package struct MemoryPressurePolicy: Sendable {
    package enum Sign: Sendable, Comparable {
        /// Processes wait for memory, or the group is at its limit: takes a quarter of the bytes that the tier holds,
        /// but leaves a sixteenth of the full limit.
        case short
        /// The kernel had to kill a process because memory was exhausted: takes all bytes above that sixteenth at once.
        case exhausted
    }

    package struct Pace: Sendable {
        /// The time after a change in which further ``Sign/short`` signs have no effect, because signs come in bursts.
        package var shrinkInterval: Duration = .seconds(2)
        /// The time without a sign before the limit grows.
        package var calmInterval: Duration = .seconds(30)
        package var growInterval: Duration = .seconds(5)

        package init() {}
    }

    package let fullLimit: Int
    package private(set) var limit: Int

    private let pace: Pace
    private var lastShrinking: ContinuousClock.Instant?
    private var growth: ContinuousClock.Instant?

    package init(fullLimit: Int, pace: Pace = Pace()) {
        self.fullLimit = fullLimit
        self.pace = pace
        limit = fullLimit
    }

    package var floor: Int { fullLimit / 16 }

    /// The tier holds `bytes` now. Returns the new limit; `nil`: no change.
    package mutating func shrink(_ sign: Sign, holding bytes: Int, at now: ContinuousClock.Instant) -> Int? {
        // Every sign delays growth, even a sign that does not change the limit.
        if limit < fullLimit { growth = now + pace.calmInterval }
        if sign == .short, let lastShrinking, now < lastShrinking + pace.shrinkInterval { return nil }
        let held = min(limit, bytes)
        let target = sign == .short ? max(floor, held - held / 4) : floor
        guard target < limit else { return nil }
        (limit, lastShrinking, growth) = (target, now, now + pace.calmInterval)
        return limit
    }

    /// `nil`: no change.
    package mutating func grow(at now: ContinuousClock.Instant) -> Int? {
        guard let growth, now >= growth else { return nil }
        limit = min(fullLimit, limit + max(1, fullLimit / 16))
        self.growth = limit < fullLimit ? now + pace.growInterval : nil
        return limit
    }

    /// The earliest time for the next call of ``grow(at:)``; `nil`: after the next sign.
    package var nextGrowth: ContinuousClock.Instant? { growth }
}
