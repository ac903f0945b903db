import Primitives

/// A subscription as the API shows it: the properties that the commands use, and the whole JSON.
package struct HeldSubscription: Hashable, Sendable {
    /// A resource that the subscription wants and does not hold.
    package struct Missing: Hashable, Sendable {
        package let url: String
        package let reason: String
        /// In RFC 3339.
        package let since: String?
    }

    package let name: String
    /// `pending`, `complete`, `incomplete` or `no-room`.
    package let state: String
    package let json: JSON

    package var isRefreshing: Bool { json["refreshing"]?.boolValue ?? false }
    /// The number of refreshes that readers have seen; 0 before the first one has ended.
    package var generation: Int64 { json["generation"]?.countValue ?? 0 }
    /// The number of resources that the source names.
    package var wanted: Int64 { json["wanted"]?.countValue ?? 0 }
    package var held: Int64 { json["held"]?.countValue ?? 0 }
    package var missingCount: Int64 { json["missingCount"]?.countValue ?? Int64(missing.count) }
    /// The number of items in the source's last list that are not wanted, because they have no URL that can be fetched.
    package var leftOut: Int64 { json["leftOut"]?.countValue ?? 0 }
    /// Empty in lists.
    package var missing: [Missing] {
        (json["missing"]?.arrayValue ?? []).compactMap { missing in
            missing["url"]?.stringValue.map { url in
                let reason = missing["reason"]?.stringValue ?? "missing"
                return Missing(url: url, reason: reason, since: missing["since"]?.stringValue)
            }
        }
    }

    /// The date from which the oldest held copy is; in RFC 3339, as the next date.
    package var oldest: String? { json["oldest"]?.stringValue }
    package var nextRefresh: String? { json["nextRefresh"]?.stringValue }
    /// The reason for which the source names no resources at the moment.
    package var sourceProblem: String? { json["sourceProblem"]?["reason"]?.stringValue }
    package var sourceProblemDate: String? { json["sourceProblem"]?["since"]?.stringValue }
    package var definition: JSON { json["definition"] ?? .null }

    /// Whether a refresh is running, or the first refresh has not begun.
    package var isUnderWay: Bool { isRefreshing || state == "pending" && sourceProblem == nil }

    /// Throws ``ClientError/unexpected(_:)`` when `json` is no subscription.
    package init(_ json: JSON) throws {
        guard let name = json["name"]?.stringValue, let state = json["state"]?.stringValue else {
            throw ClientError.unexpected("it has no subscription")
        }
        self.name = name
        self.state = state
        self.json = json
    }
}

/// A resource that a subscription wants.
package struct SubscriptionItem: Hashable, Sendable {
    package let url: String
    package let isHeld: Bool
    package let json: JSON

    package var key: String? { json["key"]?.stringValue }
    /// The date of the last proof that the held copy is current; in RFC 3339.
    package var confirmedDate: String? { json["confirmedDate"]?.stringValue }
    /// The reason for which the resource is missing, or its copy is old.
    package var problem: String? { json["problem"]?["reason"]?.stringValue }
    package var problemDate: String? { json["problem"]?["since"]?.stringValue }

    /// Throws ``ClientError/unexpected(_:)`` when `json` is no item.
    package init(_ json: JSON) throws {
        guard let url = json["url"]?.stringValue, let isHeld = json["held"]?.boolValue else {
            throw ClientError.unexpected("it has no item")
        }
        self.url = url
        self.isHeld = isHeld
        self.json = json
    }
}
