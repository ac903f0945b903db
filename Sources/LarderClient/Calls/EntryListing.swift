import Primitives

/// Which entries are meant; all of them by default.
public struct EntrySelection: Sendable {
    /// Of this URL, in any spelling.
    public var url: String?
    /// Whose URL, or own key, begins with this.
    public var prefix: String?
    /// Of URLs with this host.
    public var host: String?
    /// That carry this label.
    public var tag: String?
    /// `fresh` or `stale`.
    public var state: String?
    /// `download`, `json`, `data` or `response`.
    public var kind: String?

    /// All of them.
    public init() {}

    /// The query that says so.
    var query: APICall.Query {
        [("url", url), ("prefix", prefix), ("host", host), ("tag", tag), ("state", state), ("kind", kind)]
    }

    /// Whether nothing is said.
    public var isEmpty: Bool { query.allSatisfy { $0.value == nil } }
}

extension APIClient {
    /// The most entries of one page.
    private static let pageLimit = 1000

    /// Lists entries, a page at a time. Throws ``ClientError``, and what `body` throws.
    ///
    /// - Parameters:
    ///   - sort: as the API takes it; `nil` for by key.
    ///   - limit: the most entries in all; `nil` for no limit.
    public func list(
        _ selection: EntrySelection, sort: String? = nil, limit: Int? = nil, _ body: ([HeldEntry]) throws -> Void
    ) async throws {
        var left = limit ?? .max
        var cursor: String?
        repeat {
            let count = min(left, Self.pageLimit)
            let place: APICall.Query = [("sort", sort), ("limit", String(count)), ("cursor", cursor)]
            let page = try await send(APICall(["entries"], query: selection.query + place)).json()
            let entries = try (page["entries"]?.arrayValue ?? []).map { try HeldEntry($0) }
            try body(entries)
            left -= entries.count
            cursor = page["nextCursor"]?.stringValue
        } while cursor != nil && left > 0
    }

    /// Removes the entries that are meant, or everything when `selection` says nothing; with `onlyCounts` it removes
    /// none. Returns how many. Throws ``ClientError``.
    public func remove(_ selection: EntrySelection, onlyCounts: Bool = false) async throws -> Int64 {
        let manner: APICall.Query = [
            ("all", selection.isEmpty ? "true" : nil), ("dryRun", onlyCounts ? "true" : nil),
        ]
        return try removedCount(in: try await send(APICall(.delete, ["entries"], query: selection.query + manner)))
    }

    /// Removes what is held under a key, and returns how many entries that were. Throws ``ClientError``, also when
    /// there is none.
    public func remove(key: String) async throws -> Int64 {
        try removedCount(in: try await send(APICall(.delete, ["entries", key])))
    }

    private func removedCount(in reply: APIReply) throws -> Int64 {
        guard let count = try reply.json()["removed"]?.countValue else {
            throw ClientError.unexpected("it does not say how many were removed")
        }
        return count
    }
}
