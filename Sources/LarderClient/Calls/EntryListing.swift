import Primitives

/// Selects entries: an entry must match every property that is set.
package struct EntrySelection: Sendable {
    /// The URL of the entry, in any spelling.
    package var url: String?
    /// The beginning of the entry's URL, or of its key if the caller chose the key.
    package var prefix: String?
    /// The host of the entry's URL.
    package var host: String?
    /// A tag of the entry.
    package var tag: String?
    /// `fresh` or `stale`.
    package var state: String?
    /// `download`, `json`, `data` or `response`.
    package var kind: String?

    /// Selects all entries.
    package init() {}

    /// The query parameters of the selection.
    var query: APICall.Query {
        [("url", url), ("prefix", prefix), ("host", host), ("tag", tag), ("state", state), ("kind", kind)]
    }

    /// Whether no property is set.
    package var isEmpty: Bool { query.allSatisfy { $0.value == nil } }
}

extension APIClient {
    /// The most entries of a page.
    private static let pageLimit = 1000

    /// Lists entries, a page at a time. Throws ``ClientError``, and the errors of `body`.
    ///
    /// - Parameters:
    ///   - sort: the order, as the API takes it; `nil`: by key.
    ///   - limit: the most entries in all; `nil`: no limit.
    package func list(
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

    /// Removes the selected entries, or all entries of the namespace when `selection` is empty. With `onlyCounts`,
    /// removes no entry. Returns the number of matching entries. Throws ``ClientError``.
    package func remove(_ selection: EntrySelection, onlyCounts: Bool = false) async throws -> Int64 {
        let manner: APICall.Query = [
            ("all", selection.isEmpty ? "true" : nil), ("dryRun", onlyCounts ? "true" : nil),
        ]
        return try removedCount(in: try await send(APICall(.delete, ["entries"], query: selection.query + manner)))
    }

    /// Removes all entries under a key, and returns their number. Throws ``ClientError``, also when there is none.
    package func remove(key: String) async throws -> Int64 {
        try removedCount(in: try await send(APICall(.delete, ["entries", key])))
    }

    private func removedCount(in reply: APIReply) throws -> Int64 {
        guard let count = try reply.json()["removed"]?.countValue else {
            throw ClientError.unexpected("the number of removed entries is missing")
        }
        return count
    }
}
