import Primitives
import Subscriptions

/// A subscription for callers: its definition, and how complete its generation is.
package struct SubscriptionReport: Sendable {
    /// The completeness of a subscription.
    package enum State: String, Hashable, Sendable, CaseIterable {
        /// The first generation has not been published.
        case pending
        /// Readers have a copy of each wanted resource.
        case complete
        /// Readers lack a copy of some wanted resources.
        case incomplete
        /// The next generation had no room, also the first one. The present one stays whole.
        case noRoom = "no-room"
    }

    /// A wanted resource without a copy.
    package struct Missing: Sendable {
        package let url: String
        /// `nil` before the first answer of the origin.
        package let reason: String?
        package let since: Timestamp?
    }

    package let name: String
    package let namespace: String
    package let definition: Subscription
    package var state: State
    /// Whether members are being fetched.
    package var isRefreshing: Bool
    /// The number of the generation that readers see; 0 before the first one.
    package var generation: Int64
    package var wanted: Int
    package var held: Int
    /// At most ``missingLimit``, in the order of the source.
    package var missing: [Missing]
    package var missingCount: Int
    /// The items of the source's last list that are not wanted, because they have no URL that can be fetched.
    package var leftOut: Int
    /// The last confirmation of the copy that was confirmed longest ago; `nil` without a copy.
    package var oldest: Timestamp?
    package var nextRefresh: Timestamp
    /// The reason for which the source gave no list at the last refresh, or for which there is no credential, and since
    /// when; otherwise `nil`.
    package var sourceProblem: MemberProblem?

    package static let missingLimit = 100
}

/// A name for higher modules, which do not import Subscriptions.
package typealias SubscriptionDefinition = Subscriptions::Subscription
package typealias DefinitionFault = Subscriptions::DefinitionFault
