import Foundation

/// A comparison of a new result with an older result of the same part. It finds the changes that are larger than noise.
struct Comparison {
    /// A row that changed, and whether it became worse.
    struct Change {
        var text: String
        var isWorse: Bool
    }

    let changes: [Change]

    /// The relative difference between two runs of the same program on a shared machine.
    private static let noise = 0.05
    /// The noise of one or two rounds, which is large because so few rounds do not show their scatter.
    private static let noiseOfFewRounds = 0.3
    /// The noise of counts, which hardly vary.
    private static let noiseOfCounts = 0.01

    init(_ new: Report, against old: Report) {
        var changes: [Change] = []
        for row in new.rows {
            guard let before = old.rows.first(where: { $0.group == row.group && $0.name == row.name }) else { continue }
            let name = "\(new.part), \(row.group), \(row.name)"
            for (metric, value) in row.values.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
                guard let earlier = before.values[metric], Self.isComparable(metric, row) else { continue }
                let isCount = [.instructionsPerRequest, .objectMisses, .pinnedLost].contains(metric)
                // The count of a request that is not a hit includes background writes and clean-up of the server.
                let isExact = isCount && (metric != .instructionsPerRequest || row.ratios[metric] != nil)
                let noise = isExact ? Self.noiseOfCounts : Self.noise
                if let change = Self.change(value, earlier, metric.isMoreBetter == true, noise, isCount: isCount) {
                    let (from, to) = (metric.text(earlier.median), metric.text(value.median))
                    changes.append(
                        Change(text: "\(name): \(metric.title) \(from) -> \(to) \(metric.unit)", isWorse: change))
                }
            }
            for (metric, ratio) in row.ratios where metric != .instructionsPerRequest {
                guard let earlier = before.ratios[metric] else { continue }
                if let change = Self.change(ratio, earlier, metric.isMoreBetter == true, Self.noise) {
                    let text = String(format: "ratio of \(metric.title) %.2f -> %.2f", earlier.median, ratio.median)
                    changes.append(Change(text: "\(name): \(text)", isWorse: change))
                }
            }
        }
        self.changes = changes
    }

    var isWorse: Bool { changes.contains(where: \.isWorse) }

    /// Whether the values of two runs can be compared. Rates and times depend on the speed of the machine, so only
    /// counts and memory are compared, and start times and rates of entries if the row has no ratio.
    private static func isComparable(_ metric: Metric, _ row: Row) -> Bool {
        switch metric {
        case .instructionsPerRequest, .memoryPerConnection, .objectMisses, .pinnedLost: true
        case .startSeconds, .entriesPerSecond: row.ratios.isEmpty
        default: false
        }
    }

    /// `true` if the new series is worse, `false` if it is better, and `nil` if the change is not clear: the medians
    /// are close together, or the rounds of the two series overlap.
    private static func change(
        _ new: Series, _ old: Series, _ isMoreBetter: Bool, _ noise: Double, isCount: Bool = false
    ) -> Bool? {
        let hasFewRounds = min(new.rounds.count, old.rounds.count) < 3
        let noise = hasFewRounds && !isCount ? noiseOfFewRounds : noise
        guard old.median > 0, abs(new.median / old.median - 1) > noise else { return nil }
        let isHigher = new.median > old.median
        let isApart = isHigher ? new.lowest > old.highest : new.highest < old.lowest
        guard isApart else { return nil }
        return isHigher != isMoreBetter
    }
}
