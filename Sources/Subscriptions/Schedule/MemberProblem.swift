import Primitives

/// The reason for which a member has no copy, or an old one.
package struct MemberProblem: Hashable, Sendable {
    package var reason: String
    /// The first failure in a row.
    package var since: Timestamp
    /// Whether the member left the generation because of it.
    package var isLasting = false
    /// Whether another secret may end it (``MemberAnswer/forbidden(reason:)``).
    package var isForbidden = false

    package init(reason: String, since: Timestamp, isLasting: Bool = false, isForbidden: Bool = false) {
        self.reason = reason
        self.since = since
        self.isLasting = isLasting
        self.isForbidden = isForbidden
    }
}
