import Primitives

/// The definition of a subscription, as a caller has written it.
///
/// ```swift
/// let json = try JSON(parsing: #"{"source": {"feed": "https://news.example/rss"}, "latest": 50, "interval": "15m"}"#)
/// let subscription = try Subscription(name: "news", json)
/// ```
package struct Subscription: Hashable, Sendable {
    package let name: String
    package var source: SubscriptionSource
    /// Holds only the newest items; `nil`: all items.
    package var latest: Int?
    /// Default: an hour.
    package var interval = RefreshInterval.fixed(.seconds(3600))
    /// The ttl of the members. `nil`: until the next refresh is due.
    package var ttl: Duration?
    package var pacing = PacingLimits()
    package var quietHours: QuietHours?
    /// The longest delay of a switch because of failures that may pass. Default: five minutes.
    package var maxDelay: Duration = .seconds(300)
    package var allowsShrink = false
    /// Request fields for the source and the members. Their names are in lower case.
    package var headers: [Header] = []
    /// The name of a stored credential.
    package var credential: String?
    package var tags: [String] = []

    package struct Header: Hashable, Sendable {
        package var name: String
        package var value: String
    }

    package var rules: RefreshMachine.Rules {
        var rules = RefreshMachine.Rules(name: name, interval: interval)
        rules.maxDelay = maxDelay
        rules.allowsShrink = allowsShrink
        rules.quietHours = quietHours
        return rules
    }

    /// The shortest interval and the shortest bound of an adaptive one.
    package static let shortestInterval: Duration = .seconds(10)
    package static let longestInterval: Duration = .seconds(366 * 86_400)
    /// The most bytes of a name. A name has letters, digits, `.`, `_` and `-`, so that it needs no escapes in a path.
    package static let nameLimit = 64

    package static func isName(_ text: String) -> Bool {
        (1...nameLimit).contains(text.utf8.count) && text != "." && text != ".."
            && text.utf8.allSatisfy { byte in
                (0x61...0x7A).contains(byte | 0x20) || byte.isDigit || byte == UInt8(ascii: ".")
                    || byte == UInt8(ascii: "_")
                    || byte == UInt8(ascii: "-")
            }
    }
}

extension Subscription {
    private static let members: Set<String> = [
        "source", "latest", "interval", "adaptive", "ttl", "concurrencyPerHost", "minGap", "quietHours", "maxDelay",
        "allowShrink", "headers", "credential", "tags",
    ]

    /// Throws ``DefinitionFault`` with the place of the first invalid, unknown or missing member.
    package init(name: String, _ json: JSON) throws(DefinitionFault) {
        guard Self.isName(name) else {
            throw DefinitionFault(
                "the name must have 1 to \(Self.nameLimit) letters, digits, dots, underscores or hyphens", at: .root)
        }
        guard case .object(let members) = json else {
            throw DefinitionFault("the body must be a JSON object with a source", at: .root)
        }
        if let stranger = members.first(where: { !Self.members.contains($0.name) }) {
            let names = Self.members.sorted().joined(separator: ", ")
            throw DefinitionFault(
                "unknown member \"\(stranger.name)\"; the members are \(names)", at: [stranger.name])
        }
        let reader = DefinitionReader(json)
        guard let source = reader["source"] else { throw DefinitionFault("source is missing", at: ["source"]) }
        self.init(name: name, source: try SubscriptionSource(source))
        latest = try reader.integer("latest", in: 1...SubscriptionSource.urlLimit)
        let range = Self.shortestInterval...Self.longestInterval
        let fixed = try reader.duration("interval", in: range)
        let adaptive = try reader.bounds("adaptive", in: range)
        guard fixed == nil || adaptive == nil else {
            throw DefinitionFault("interval and adaptive exclude each other", at: ["adaptive"])
        }
        if let fixed { interval = .fixed(fixed) }
        if let adaptive { interval = .adaptive(min: adaptive.min, max: adaptive.max) }
        ttl = try reader.duration("ttl", in: .zero...Self.longestInterval)
        pacing.concurrency = try reader.integer("concurrencyPerHost", in: 1...16) ?? pacing.concurrency
        pacing.gap = try reader.duration("minGap", in: .zero...(.seconds(3600))) ?? pacing.gap
        if let text = try reader.text("quietHours") {
            guard let hours = QuietHours(text) else {
                throw DefinitionFault("quietHours must be two times in UTC, such as 22:00-06:30", at: ["quietHours"])
            }
            quietHours = hours
        }
        maxDelay = try reader.duration("maxDelay", in: .zero...(.seconds(86_400))) ?? maxDelay
        allowsShrink = try reader.bool("allowShrink") ?? false
        headers = try reader.headers("headers")
        credential = try reader.text("credential")
        tags = try reader.texts("tags")
    }

    private init(name: String, source: SubscriptionSource) {
        self.name = name
        self.source = source
    }

    /// The definition with all defaults. ``init(name:_:)`` reads it back.
    package var json: JSON {
        var members: [JSON.Member] = [.init("source", source.json)]
        func add(_ name: String, _ value: JSON?) {
            if let value { members.append(.init(name, value)) }
        }
        add("latest", latest.map { .number($0) })
        switch interval {
        case .fixed(let interval): add("interval", .seconds(interval))
        case .adaptive(let shortest, let longest):
            add("adaptive", ["min": .seconds(shortest), "max": .seconds(longest)])
        }
        add("ttl", ttl.map(JSON.seconds))
        add("concurrencyPerHost", .number(pacing.concurrency))
        add("minGap", .seconds(pacing.gap))
        add("quietHours", quietHours.map { .string($0.text) })
        add("maxDelay", .seconds(maxDelay))
        add("allowShrink", .bool(allowsShrink))
        add("headers", .object(headers.map { .init($0.name, .string($0.value)) }))
        add("credential", credential.map(JSON.string))
        add("tags", .array(tags.map(JSON.string)))
        return .object(members)
    }
}
