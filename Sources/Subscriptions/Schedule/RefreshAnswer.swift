import Primitives

/// An item that a source wants to be held.
package struct WantedItem: Hashable, Sendable {
    /// Canonical.
    package let url: String
    /// The name of the entry in the API.
    package let key: String
    /// With the port, because the requests to a server are paced together.
    package let host: String
    /// Keeps the escapes of the source in the query, because they may be part of a signature.
    package let requestURL: String

    /// - Parameter requestURL: `nil`: the same text as `url`.
    package init(url: String, key: String, host: String, requestURL: String? = nil) {
        self.url = url
        self.key = key
        self.host = host
        self.requestURL = requestURL ?? url
    }
}

/// The result of a refresh of a subscription's source.
package enum SourceAnswer: Sendable {
    /// The items in their order. `least`: see ``RefreshInterval/next(after:isChanged:least:)``.
    case items([WantedItem], least: Duration)
    /// The source confirmed its items.
    case unchanged(least: Duration)
    /// No usable list: no answer, an empty one, or one that is no list.
    case failed(reason: String, pause: Duration?)
}

/// The result of one request for a member's URL.
package enum MemberAnswer: Sendable {
    /// The origin confirmed the body of the held copy.
    case confirmed(least: Duration)
    /// A body has arrived, and waits for the switch.
    case staged(isChanged: Bool, least: Duration)
    /// A failure that will last, such as a 404: the member leaves the generation.
    case gone(reason: String, forever: Bool)
    /// A refusal that a day may change, such as 401 and 403. The member keeps its copy.
    case refused(reason: String)
    /// A failure that may pass, such as a 503 or a reset connection. `pause`: as the origin asks.
    case failed(reason: String, pause: Duration?)
    /// The cache has no room for both generations.
    case noRoom
}

/// The reason for which a switch did not bring a member into the generation.
package struct MemberLoss: Hashable, Sendable {
    package var reason: String
    /// Whether readers keep the copy of the old generation, if it had one.
    package var keepsCopy: Bool
    /// Whether another fetch is likely to bring the member back.
    package var isPassing: Bool

    package init(_ reason: String, keepsCopy: Bool = false, isPassing: Bool = false) {
        self.reason = reason
        self.keepsCopy = keepsCopy
        self.isPassing = isPassing
    }
}

/// The reason for which a member has no copy, or an old one.
package struct MemberProblem: Hashable, Sendable {
    package var reason: String
    /// The first failure in a row.
    package var since: Timestamp
    /// Whether the member left the generation because of it.
    package var isLasting = false

    package init(reason: String, since: Timestamp, isLasting: Bool = false) {
        self.reason = reason
        self.since = since
        self.isLasting = isLasting
    }
}
