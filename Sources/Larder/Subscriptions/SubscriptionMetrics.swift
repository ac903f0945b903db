import Primitives

/// The numbers of the subscriptions, over all namespaces.
package final class SubscriptionMetrics: Sendable {
    private struct Item {
        let state: SubscriptionReport.State
        let held: Int
        let missing: Int
        let oldest: Timestamp?
        let hasSourceProblem: Bool
    }

    private let items = Locked<[Int64: Item]>([:])
    /// The rounds that ended with a new generation.
    package let switches = Counter()
    /// The switches that failed, for lack of room or another reason.
    package let failedSwitches = Counter()

    /// The number of subscriptions in each state, also if there is none.
    package var subscriptions: [(state: SubscriptionReport.State, count: Int)] {
        let counts = items.withLock { $0.values.reduce(into: [:]) { $0[$1.state, default: 0] += 1 } }
        return SubscriptionReport.State.allCases.map { ($0, counts[$0] ?? 0) }
    }

    /// The wanted resources with and without a copy.
    package var resources: (held: Int, missing: Int) {
        items.withLock { items in
            items.values.reduce(into: (0, 0)) { sum, item in
                sum.0 += item.held
                sum.1 += item.missing
            }
        }
    }

    /// The subscriptions of which the source gave no list at its last refresh, or of which the credential is missing.
    package var failingSources: Int { items.withLock { $0.values.count(where: \.hasSourceProblem) } }

    /// The time since the origin confirmed the copy that was confirmed longest ago; zero without a copy.
    package func oldestAge(at now: Timestamp) -> Duration {
        guard let oldest = items.withLock({ $0.values.compactMap(\.oldest).min() }) else { return .zero }
        return max(now - oldest, .zero)
    }

    func note(_ report: SubscriptionReport, of id: Int64) {
        let item = Item(
            state: report.state, held: report.held, missing: report.missingCount, oldest: report.oldest,
            hasSourceProblem: report.sourceProblem != nil)
        items.withLock { $0[id] = item }
    }

    func forget(_ id: Int64) {
        items.withLock { $0[id] = nil }
    }
}
