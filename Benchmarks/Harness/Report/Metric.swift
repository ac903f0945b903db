import Foundation

/// A measured quantity. Values are in the base unit: seconds, bytes, counts.
enum Metric: String, Codable, CodingKeyRepresentable, CaseIterable, Sendable {
    case requestsPerSecond, entriesPerSecond, storesPerSecond, readsPerSecond, startSeconds, instructionsPerRequest
    case pagesPerSecond, rewrittenPerSecond, secondsPerMegabyte
    case p50, p99, p999, cpuPerRequest, peakMemory, anonymousMemory, memoryPerConnection, runs
    case objectMisses, byteMisses, policyMemory, pinned, pinnedLost
    case originRequests, failures

    /// The head of the column.
    var title: String {
        switch self {
        case .requestsPerSecond: "requests/s"
        case .p50: "p50"
        case .p99: "p99"
        case .p999: "p99.9"
        case .cpuPerRequest: "CPU a request"
        case .peakMemory: "peak memory"
        case .anonymousMemory: "own memory"
        case .entriesPerSecond: "entries/s"
        case .storesPerSecond: "stored/s"
        case .readsPerSecond: "read/s"
        case .pagesPerSecond: "pages/s"
        case .rewrittenPerSecond: "rewritten"
        case .secondsPerMegabyte: "time a MB"
        case .startSeconds: "to the first hit"
        case .memoryPerConnection: "memory a connection"
        case .instructionsPerRequest: "instructions a request"
        case .originRequests: "origin requests"
        case .runs: "background runs"
        case .objectMisses: "object misses"
        case .byteMisses: "byte misses"
        case .policyMemory: "policy's memory an entry"
        case .pinned: "pinned"
        case .pinnedLost: "pinned and lost"
        case .failures: "failed"
        }
    }

    /// The unit that ``text(_:)`` writes.
    var unit: String {
        switch self {
        case .requestsPerSecond, .entriesPerSecond, .storesPerSecond, .readsPerSecond, .pagesPerSecond: "/s"
        case .rewrittenPerSecond: "MB/s"
        case .p50, .p99, .p999, .startSeconds, .secondsPerMegabyte: "ms"
        case .cpuPerRequest: "µs"
        case .peakMemory, .anonymousMemory: "MiB"
        case .memoryPerConnection: "KiB"
        case .policyMemory: "bytes"
        case .instructionsPerRequest, .originRequests, .failures, .runs: ""
        case .objectMisses, .byteMisses, .pinned, .pinnedLost: ""
        }
    }

    /// Whether a higher value is better. `nil` if a higher value is neither better nor worse.
    var isMoreBetter: Bool? {
        switch self {
        case .requestsPerSecond, .entriesPerSecond, .storesPerSecond, .readsPerSecond, .pagesPerSecond,
            .rewrittenPerSecond:
            true
        case .originRequests, .runs, .pinned: nil
        default: false
        }
    }

    /// Combines the samples of the turns of a round into a single sample.
    static func together(_ turns: [Sample]) -> Sample {
        Dictionary(
            uniqueKeysWithValues: allCases.compactMap { metric in
                Series(turns.compactMap { $0[metric] }).map { (metric, metric.together($0)) }
            })
    }

    private func together(_ turns: Series) -> Double {
        switch self {
        case .originRequests, .failures, .runs, .pinnedLost: turns.rounds.reduce(0, +)
        case .peakMemory, .anonymousMemory, .memoryPerConnection: turns.highest
        // Times have a mean, too, so that a delay in a single turn does not vanish.
        default: turns.rounds.reduce(0, +) / Double(turns.rounds.count)
        }
    }

    /// The text of `value` in ``unit``.
    func text(_ value: Double) -> String {
        switch self {
        case .requestsPerSecond, .entriesPerSecond, .storesPerSecond, .readsPerSecond, .instructionsPerRequest,
            .originRequests, .runs, .failures, .pinned, .pinnedLost:
            String(format: "%.0f", value)
        case .pagesPerSecond: String(format: "%.1f", value)
        case .secondsPerMegabyte: String(format: "%.1f", value * 1e3)
        case .rewrittenPerSecond: String(format: "%.0f", value / 1e6)
        case .p50, .p99, .p999: String(format: value < 1e-3 ? "%.4f" : "%.2f", value * 1e3)
        case .startSeconds: String(format: "%.0f", value * 1e3)
        case .cpuPerRequest: String(format: "%.1f", value * 1e6)
        case .peakMemory, .anonymousMemory: String(format: "%.0f", value / 1_048_576)
        case .objectMisses, .byteMisses: String(format: "%.4f", value)
        case .policyMemory: String(format: "%.1f", value)
        case .memoryPerConnection: String(format: "%.1f", value / 1024)
        }
    }
}
