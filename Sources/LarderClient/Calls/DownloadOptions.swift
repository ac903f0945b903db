import Primitives

/// Durations that are `nil` are not given.
package struct DownloadOptions: Sendable {
    /// `nil`: as the origin says, else the server's default.
    package var ttl: Seconds?
    /// Whether a hit starts the entry's time anew.
    package var updateExpiry = false
    /// Whether to ask the origin even if the entry is fresh.
    package var refresh = false
    /// For the time after its expiry, the entry may be the answer while the server refreshes it.
    package var staleWhileRevalidate: Seconds?
    /// For the time after its expiry, the entry may be the answer when the origin fails.
    package var staleIfError: Seconds?
    /// Parameters of the URL, in the given order; a name may occur several times.
    package var params: [(name: String, value: String)] = []
    /// For the request to the origin.
    package var headers: [(name: String, value: String)] = []
    package var tags: [String] = []
    package var pinned = false

    package init() {}

    /// `ttl` overrides the option of the same name.
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
