import Primitives

/// What a request for a download may say beside the URL; nothing of it by default.
public struct DownloadOptions: Sendable {
    /// How long the entry stays fresh; `nil` leaves it to the origin, else to the server's default.
    public var ttl: Seconds?
    /// Whether a hit starts the time anew.
    public var updateExpiry = false
    /// Whether the origin is asked although the entry is fresh.
    public var refresh = false
    /// How long after its expiry the entry may be the answer, and be refreshed behind it.
    public var staleWhileRevalidate: Seconds?
    /// How long after its expiry the entry may be the answer when the origin fails.
    public var staleIfError: Seconds?
    /// Parameters of the URL, in the order in which they were given; a name may come again.
    public var params: [(name: String, value: String)] = []
    /// Fields for the origin.
    public var headers: [(name: String, value: String)] = []
    /// Labels.
    public var tags: [String] = []
    /// Whether the entry stays when room is needed.
    public var pinned = false

    /// Nothing.
    public init() {}

    /// The request for a URL; `ttl` goes before the options' own.
    func json(url: String, ttl: Seconds? = nil) -> JSON {
        var members: [JSON.Member] = [.init("url", .string(url))]
        func add(_ name: String, _ value: JSON?) {
            if let value { members.append(.init(name, value)) }
        }
        add("ttl", (ttl ?? self.ttl)?.json)
        add("staleWhileRevalidate", staleWhileRevalidate?.json)
        add("staleIfError", staleIfError?.json)
        for (name, isSet) in [("updateExpiry", updateExpiry), ("refresh", refresh), ("pinned", pinned)] where isSet {
            add(name, true)
        }
        if !params.isEmpty { add("params", Self.grouped(params)) }
        if !headers.isEmpty { add("headers", .object(headers.map { .init($0.name, .string($0.value)) })) }
        if !tags.isEmpty { add("tags", .array(tags.map(JSON.string))) }
        return .object(members)
    }

    /// Names that come again become arrays.
    private static func grouped(_ pairs: [(name: String, value: String)]) -> JSON {
        var names: [String] = []
        var values: [String: [JSON]] = [:]
        for (name, value) in pairs {
            if values[name] == nil { names.append(name) }
            values[name, default: []].append(.string(value))
        }
        return .object(
            names.map { name in
                let all = values[name] ?? []
                return JSON.Member(name, all.count == 1 ? all[0] : .array(all))
            })
    }
}
