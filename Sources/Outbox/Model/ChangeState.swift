/// The state of a change, as stored and as callers see it.
///
///     pending → sending → confirmed → done
///
/// `uncertain`, `conflict`, `blocked` and `rejected` stop the lane until a decision or a new credential.
package enum ChangeState: String, Hashable, Sendable, CaseIterable {
    /// The change waits for its turn, or for its next attempt.
    case pending
    /// The request may be under way. A start finds this state after a kill, and the outcome is unknown then.
    case sending
    /// The origin has confirmed the effect. A GET that begins now shows it.
    case confirmed
    /// The effect is part of the remote body that readers see, or no GET shows it: the change is a POST, or all reads
    /// after the confirmation have failed for some time.
    case done
    /// The effect may have happened, and no GET can tell.
    case uncertain
    /// The resource changed, or is gone, in a way that cannot be merged.
    case conflict
    /// The origin wants another credential.
    case blocked
    /// The origin, or the policy of permitted origins, refuses the request for good.
    case rejected
    /// A caller has withdrawn the change, or has taken the origin's version.
    case cancelled
    /// The change was not sent before its date of expiry.
    case expired

    /// Whether the change never changes again, and its lane goes on.
    package var isEnded: Bool {
        switch self {
        case .done, .cancelled, .expired: true
        case .pending, .sending, .confirmed, .uncertain, .conflict, .blocked, .rejected: false
        }
    }

    /// Whether the lane waits until a caller decides or a credential changes.
    package var stopsLane: Bool {
        switch self {
        case .uncertain, .conflict, .blocked, .rejected: true
        case .pending, .sending, .confirmed, .done, .cancelled, .expired: false
        }
    }
}
