import Outbox
import Primitives

/// The numbers of the outbox, over all namespaces.
package final class OutboxMetrics: Sendable {
    /// The end of one request of a change.
    package enum Outcome: String, CaseIterable, Sendable {
        case applied
        /// The resource has another state than the request expects (404, 409, 410, 412, 428).
        case conflict
        /// The origin wants another credential (401, 403).
        case blocked
        /// The origin wants no requests now (429).
        case throttled
        /// The answer leads elsewhere (307, 308), also if Larder follows it.
        case redirected
        case rejected
        /// The request may have had its effect.
        case unknown
        /// There was no connection.
        case unreachable
        /// The policy of permitted origins, or of the credential, has refused the request.
        case refused
    }

    fileprivate struct State {
        /// The changes that have not ended.
        var changes: [Change.ID: Item] = [:]
        var ended: [ChangeState: Int] = [:]
    }

    fileprivate struct Item {
        let namespace: String
        let created: Timestamp
        var state: ChangeState
    }

    private let state = Locked(State())
    private let sent = Outcome.allCases.map { _ in Counter() }

    package func sends(_ outcome: Outcome) -> Counter { sent[Outcome.allCases.firstIndex(of: outcome)!] }

    /// The numbers of the changes that have not ended, for each such state, also if there is none.
    package var changes: [(state: ChangeState, count: Int)] {
        let counts = state.withLock { state in
            state.changes.values.reduce(into: [ChangeState: Int]()) { $0[$1.state, default: 0] += 1 }
        }
        return ChangeState.allCases.filter { !$0.isEnded }.map { ($0, counts[$0] ?? 0) }
    }

    /// The numbers of changes that have ended since the start, by state.
    package var ended: [(state: ChangeState, count: Int)] {
        let counts = state.withLock(\.ended)
        return ChangeState.allCases.filter(\.isEnded).map { ($0, counts[$0] ?? 0) }
    }

    /// The age of the oldest change that has not ended; zero without such a change.
    package func oldestAge(at now: Timestamp) -> Duration {
        guard let oldest = state.withLock({ $0.changes.values.map(\.created).min() }) else { return .zero }
        return max(now - oldest, .zero)
    }

    // MARK: - The outbox

    /// Replaces all changes that have not ended.
    func begin(with changes: [ChangeSummary]) {
        state.withLock { state in
            state.changes = [:]
            for change in changes { state.changes[change.id] = Item(change) }
        }
    }

    /// Notes the durable state of a change.
    func note(_ change: ChangeSummary) {
        state.withLock { state in
            if change.state.isEnded {
                if state.changes.removeValue(forKey: change.id) != nil { state.ended[change.state, default: 0] += 1 }
            } else {
                state.changes[change.id] = Item(change)
            }
        }
    }

    func removeAll(in namespace: String) {
        state.withLock { state in state.changes = state.changes.filter { $0.value.namespace != namespace } }
    }
}

extension OutboxMetrics.Item {
    fileprivate init(_ change: ChangeSummary) {
        self.init(namespace: change.namespace, created: change.created, state: change.state)
    }
}

extension OutboxMetrics.Outcome {
    /// The outcome of a request that the origin has answered with this status.
    init(status: Int) {
        self =
            switch SendMeaning(status: status) {
            case .applied: .applied
            case .notApplied: .throttled
            case .unknown: .unknown
            case .stateConflict, .gone: .conflict
            case .credential: .blocked
            case .redirect: .redirected
            case .rejected: .rejected
            }
    }
}
