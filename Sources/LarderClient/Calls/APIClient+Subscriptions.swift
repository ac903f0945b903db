import Primitives

/// All calls throw ``ClientError``, also when the server has no such subscription.
extension APIClient {
    private static let itemListLimit = 1000

    /// Creates a subscription, or replaces the definition of an existing one, and starts a refresh.
    package func subscribe(_ name: String, _ definition: JSON) async throws -> HeldSubscription {
        try HeldSubscription(try await send(.put(definition, to: ["subscriptions", name])).json())
    }

    /// Returns the subscription with its missing resources.
    package func subscription(_ name: String) async throws -> HeldSubscription {
        try HeldSubscription(try await send(APICall(["subscriptions", name])).json())
    }

    /// Returns all subscriptions, without missing resources and without the URLs of their definitions.
    package func subscriptions() async throws -> [HeldSubscription] {
        var (all, cursor): ([HeldSubscription], String?) = ([], nil)
        repeat {
            let query: APICall.Query = [("limit", String(Self.itemListLimit)), ("cursor", cursor)]
            let part = try await send(APICall(["subscriptions"], query: query)).json()
            all += try (part["subscriptions"]?.arrayValue ?? []).map { try HeldSubscription($0) }
            cursor = part["nextCursor"]?.stringValue
        } while cursor != nil
        return all
    }

    /// Lists the resources that the subscription wants, a part of the list at a time.
    package func items(ofSubscription name: String, _ body: ([SubscriptionItem]) throws -> Void) async throws {
        var cursor: String?
        repeat {
            let query: APICall.Query = [("limit", String(Self.itemListLimit)), ("cursor", cursor)]
            let part = try await send(APICall(["subscriptions", name, "items"], query: query)).json()
            try body(try (part["items"]?.arrayValue ?? []).map { try SubscriptionItem($0) })
            cursor = part["nextCursor"]?.stringValue
        } while cursor != nil
    }

    /// Starts a refresh now, or joins the running refresh.
    package func refresh(subscription name: String) async throws -> HeldSubscription {
        try HeldSubscription(try await send(APICall(.post, ["subscriptions", name, "refresh"])).json())
    }

    /// Waits for the end of the running refresh, or of the first refresh if the subscription is new. Returns the
    /// subscription with its missing resources. `pollInterval` is the pause between two questions. `progress`
    /// gets each answer.
    package func refreshEnd(
        of name: String, pollInterval: Duration = .milliseconds(500), progress: (HeldSubscription) -> Void = { _ in }
    ) async throws -> HeldSubscription {
        try await poll(every: pollInterval) {
            try await subscription(name)
        } until: {
            progress($0)
            return !$0.isUnderWay
        }
    }

    /// Removes the subscription. With `keepsEntries`, the resources that it held become ordinary entries; otherwise
    /// the call removes the resources that no other subscription holds.
    package func remove(subscription name: String, keepsEntries: Bool) async throws {
        let query: APICall.Query = [("keep", keepsEntries ? "true" : "false")]
        _ = try await send(APICall(.delete, ["subscriptions", name], query: query))
    }
}

/// The definition of a subscription. An option of `nil` is not sent, so the default of the server applies.
package struct SubscriptionOptions: Sendable {
    package enum Source: Sendable {
        /// With `enclosures`, the files that the items attach are held, too.
        case feed(String, enclosures: Bool)
        case sitemap(String)
        /// `items` and `next` are JSON pointers; `next` may also be `link`, and `nil` is the default of the server.
        case pages(String, items: String, next: String?)
        case urls([String])
        /// Whole pages with all their resources.
        case capture([String])

        fileprivate var json: JSON {
            switch self {
            case .feed(let url, let enclosures):
                enclosures ? ["feed": .string(url), "enclosures": true] : ["feed": .string(url)]
            case .sitemap(let url): ["sitemap": .string(url)]
            case .pages(let url, let items, let next):
                .object(
                    [.init("pages", .string(url)), .init("items", .string(items))]
                        + (next.map { [.init("next", .string($0))] } ?? []))
            case .urls(let urls): ["urls": .array(urls.map(JSON.string))]
            case .capture(let urls): ["capture": .array(urls.map(JSON.string))]
            }
        }
    }

    package var source: Source
    /// The number of the newest items to hold; `nil`: all.
    package var latest: Int?
    package var interval: Seconds?
    /// The bounds of an interval that follows the changes of the source. Excludes ``interval``.
    package var adaptive: (min: Seconds, max: Seconds)?
    package var ttl: Seconds?
    /// The pause between two requests to one host.
    package var minGap: Seconds?
    /// Two times in UTC, such as `22:00-06:30`.
    package var quietHours: String?
    /// Whether a refresh may drop more than half of the items.
    package var allowsShrink = false
    package var credential: String?
    package var tags: [String] = []

    package init(source: Source) {
        self.source = source
    }

    package var json: JSON {
        var members: [JSON.Member] = [.init("source", source.json)]
        func add(_ name: String, _ value: JSON?) {
            if let value { members.append(.init(name, value)) }
        }
        add("latest", latest.map { .number($0) })
        add("interval", interval?.json)
        add("adaptive", adaptive.map { ["min": $0.min.json, "max": $0.max.json] })
        add("ttl", ttl?.json)
        add("minGap", minGap?.json)
        add("quietHours", quietHours.map(JSON.string))
        if allowsShrink { add("allowShrink", true) }
        add("credential", credential.map(JSON.string))
        if !tags.isEmpty { add("tags", .array(tags.map(JSON.string))) }
        return .object(members)
    }
}
