package struct WarmTally: Hashable, Sendable {
    /// Includes lines that cannot be read.
    package let total: Int
    package private(set) var outcomes: [Outcome: Int] = [:]
    package private(set) var failed: Int
    /// Of the bodies that came from origins.
    package private(set) var bytes: Int64 = 0

    /// Starts with the number of lines that failed before any request.
    package init(total: Int, failed: Int = 0) {
        self.total = total
        self.failed = failed
    }

    package var ended: Int { outcomes.values.reduce(failed, +) }
    /// The number of ended URLs that were no fresh hits.
    package var asked: Int { ended - (outcomes[.cached] ?? 0) }

    package mutating func add(_ end: WarmRun.End) {
        switch end.result {
        case .success(let kept):
            outcomes[kept.outcome, default: 0] += 1
            guard kept.outcome == .downloaded || kept.outcome == .joined else { return }
            bytes = bytes.addingClamped(kept.entry.contentLength)
        case .failure: failed += 1
        }
    }
}
