import Primitives
import Subscriptions

/// A wanted resource of a subscription.
package struct SubscriptionItem: Sendable {
    package let url: String
    package let key: String
    package let isHeld: Bool
    /// When the origin confirmed the copy, or sent it; `nil` without a copy.
    package let confirmed: Timestamp?
    package let problem: MemberProblem?
}

package typealias MemberProblem = Subscriptions::MemberProblem
