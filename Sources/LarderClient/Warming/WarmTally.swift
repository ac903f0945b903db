/// The counts of a run so far.
public struct WarmTally: Hashable, Sendable {
    /// The number of URLs in the list, including lines that cannot be read.
    public let total: Int
    /// The number of successes for each outcome.
    public private(set) var outcomes: [Outcome: Int] = [:]
    /// The number of failures.
    public private(set) var failed: Int
    /// The bytes of the bodies that came from origins.
    public private(set) var bytes: Int64 = 0

    /// Starts the counts. `failed` is the number of lines that failed before any request.
    public init(total: Int, failed: Int = 0) {
        self.total = total
        self.failed = failed
    }

    /// The number of URLs that have ended.
    public var ended: Int { outcomes.values.reduce(failed, +) }

    /// The number of ended URLs that were no fresh hits.
    public var asked: Int { ended - (outcomes[.cached] ?? 0) }

    /// Counts the end of a URL.
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
