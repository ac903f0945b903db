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
        /// The next generation had no room beside the present one, which stays whole.
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
    /// The last confirmation of the copy that was confirmed longest ago; `nil` without a copy.
    package var oldest: Timestamp?
    package var nextRefresh: Timestamp
    /// The reason for which the source gave no list at the last refresh, and since when; otherwise `nil`.
    package var sourceProblem: MemberProblem?

    package static let missingLimit = 100
}

/// A name for higher modules, which do not import Subscriptions.
package typealias SubscriptionDefinition = Subscriptions::Subscription
package typealias DefinitionFault = Subscriptions::DefinitionFault

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

/// The reason for which a call about subscriptions fails.
package enum SubscriptionFailure: Error, Sendable {
    /// The server has no state directory.
    case noDirectory
    case noSubscription(String)
    /// The namespace has as many subscriptions as it may have.
    case tooMany(limit: Int)
    /// The definitions of the namespace are as long as they may be.
    case tooLong(limit: Int)
    /// The origin policy allows no request to a URL of the definition.
    case refused(url: String, reason: String)
    case noCredential(String)
    case noNamespace(String)
    case conditionFailed
    /// The subscription is being removed.
    case ending(String)
    /// The namespace is being removed.
    case removing(String)
    case stopping
    /// The state cannot be read or written; in words.
    case state(StateFailure)
    case cache(DownloadError)

    package enum StateFailure: Error, Hashable, Sendable {
        case noSpace
        case other(String)
    }
}

extension SubscriptionFailure: CustomStringConvertible {
    package var description: String {
        switch self {
        case .noDirectory:
            "the server has no state directory for subscriptions; start it with --state-directory, or set HOME"
        case .noSubscription(let name): "there is no subscription \"\(name)\""
        case .tooMany(let limit): "the namespace has \(limit) subscriptions, the limit; remove some"
        case .tooLong(let limit):
            "the definitions of the namespace have at most \(limit) bytes together; remove some, or name fewer URLs"
        case .refused(let url, let reason): "\(url) cannot be fetched: \(reason)"
        case .noCredential(let name): "there is no credential \"\(name)\"; store it first (PUT /credentials/\(name))"
        case .noNamespace(let name): "there is no namespace \"\(name)\""
        case .conditionFailed: "the subscription does not match the condition of the request"
        case .removing(let name): "the namespace \"\(name)\" is being removed; retry later"
        case .ending(let name): "the subscription \"\(name)\" is being removed; retry later"
        case .stopping: "the server is stopping"
        case .state(.noSpace): "the disk is full, and the subscription was not stored; free some space and try again"
        case .state(.other(let reason)): reason
        case .cache(let error): error.description
        }
    }
}
