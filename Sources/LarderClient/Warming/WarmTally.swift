/// What has become of the URLs of a list so far.
public struct WarmTally: Hashable, Sendable {
    /// How many there are.
    public let total: Int
    /// How many ended in each of the good ways.
    public private(set) var outcomes: [Outcome: Int] = [:]
    /// How many failed.
    public private(set) var failed: Int
    /// The bytes of what came from origins.
    public private(set) var bytes: Int64 = 0

    /// Nothing yet, but for those that failed before anybody was asked.
    public init(total: Int, failed: Int = 0) {
        self.total = total
        self.failed = failed
    }

    /// How many have come to an end.
    public var ended: Int { outcomes.values.reduce(failed, +) }

    /// How many the origin was asked for.
    public var asked: Int { ended - (outcomes[.cached] ?? 0) }

    /// One more has come to an end.
    public mutating func add(_ end: WarmRun.End) {
        switch end.result {
        case .success(let kept):
            outcomes[kept.outcome, default: 0] += 1
            guard kept.outcome == .downloaded || kept.outcome == .joined else { return }
            bytes = bytes.addingClamped(kept.entry.contentLength)
        case .failure: failed += 1
        }
    }
}
