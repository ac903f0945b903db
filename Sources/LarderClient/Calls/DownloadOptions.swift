import Primitives

/// The options of a request for a download, beside the URL.
package struct DownloadOptions: Sendable {
    /// The time for which the entry stays fresh; `nil`: as the origin says, else the server's default.
    package var ttl: Seconds?
    /// Whether a hit starts the entry's time anew. Default: `false`.
    package var updateExpiry = false
    /// Whether to ask the origin even if the entry is fresh. Default: `false`.
    package var refresh = false
    /// The time after its expiry in which the entry may still be the answer while the server refreshes it; `nil`: not
    /// given.
    package var staleWhileRevalidate: Seconds?
    /// The time after its expiry in which the entry may still be the answer when the origin fails; `nil`: not given.
    package var staleIfError: Seconds?
    /// Parameters of the URL, in the given order; a name may occur several times.
    package var params: [(name: String, value: String)] = []
    /// Header fields for the request to the origin.
    package var headers: [(name: String, value: String)] = []
    /// The tags of the entry.
    package var tags: [String] = []
    /// Whether the entry is pinned: it is not evicted to make room. Default: `false`.
    package var pinned = false

    /// No options: the defaults.
    package init() {}

    /// The request for a URL; `ttl` overrides the option of the same name.
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

    /// Collects the values of a repeated name in an array.
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
