/// How much the memory tier may hold while memory is short: the rules alone, without a clock and without I/O.
///
/// A sign of pressure takes a quarter of what the tier holds, down to a sixteenth of the full limit, and the last
/// resort takes all of that at once. Once there was no sign for some time the limit grows back, step by step, so that
/// the tier does not bring about the next sign by itself.
public struct MemoryPressurePolicy: Sendable {
    /// How bad it is.
    public enum Sign: Sendable, Comparable {
        /// Processes wait for memory, or the group is at its limit.
        case short
        /// The system had to end a process for lack of memory.
        case exhausted
    }

    /// How quickly the limit changes.
    public struct Pace: Sendable {
        /// Signs come in bursts: after one was followed, others within this time change nothing.
        public var shrinkInterval: Duration = .seconds(2)
        /// The limit does not grow before there was no sign for so long.
        public var calmInterval: Duration = .seconds(30)
        /// The time from one step of growth to the next.
        public var growInterval: Duration = .seconds(5)

        /// The defaults.
        public init() {}
    }

    /// The limit without pressure, in bytes.
    public let fullLimit: Int
    /// The limit now, in bytes.
    public private(set) var limit: Int

    private let pace: Pace
    private var lastShrinking: ContinuousClock.Instant?
    /// Once the limit is lower than the full one: when it grows next.
    private var growth: ContinuousClock.Instant?

    /// A policy that has seen no sign yet.
    public init(fullLimit: Int, pace: Pace = Pace()) {
        self.fullLimit = fullLimit
        self.pace = pace
        limit = fullLimit
    }

    /// The limit never falls below this.
    public var floor: Int { fullLimit / 16 }

    /// There was a sign that memory is short; `bytes` is what the tier holds. The new limit; `nil`: it stays.
    public mutating func shrink(_ sign: Sign, holding bytes: Int, at now: ContinuousClock.Instant) -> Int? {
        // Whatever becomes of it, nothing grows for a while.
        if limit < fullLimit { growth = now + pace.calmInterval }
        if sign == .short, let lastShrinking, now < lastShrinking + pace.shrinkInterval { return nil }
        let held = min(limit, bytes)
        let target = sign == .short ? max(floor, held - held / 4) : floor
        guard target < limit else { return nil }
        (limit, lastShrinking, growth) = (target, now, now + pace.calmInterval)
        return limit
    }

    /// Time has passed. The new limit, when it grows now; `nil`: it stays.
    public mutating func grow(at now: ContinuousClock.Instant) -> Int? {
        guard let growth, now >= growth else { return nil }
        limit = min(fullLimit, limit + max(1, fullLimit / 16))
        self.growth = limit < fullLimit ? now + pace.growInterval : nil
        return limit
    }

    /// When ``grow(at:)`` should be asked next; `nil`: not before the next sign.
    public var nextGrowth: ContinuousClock.Instant? { growth }
}
