import Primitives

/// Selects entries: an entry must match every property that is set. Without one, selects all.
package struct EntrySelection: Sendable {
    /// In any spelling.
    package var url: String?
    /// The beginning of the entry's URL, or of its key if the caller chose the key.
    package var prefix: String?
    package var host: String?
    package var tag: String?
    /// `fresh` or `stale`.
    package var state: String?
    /// `download`, `json`, `data` or `response`.
    package var kind: String?

    package init() {}

    var query: APICall.Query {
        [("url", url), ("prefix", prefix), ("host", host), ("tag", tag), ("state", state), ("kind", kind)]
    }
    package var isEmpty: Bool { query.allSatisfy { $0.value == nil } }
}

extension APIClient {
    private static let pageLimit = 1000

    /// Lists entries, a page at a time; without `sort`, by key. `limit` counts the entries of all pages.
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

    /// Removes all entries of the namespace when `selection` is empty. With `onlyCounts`, removes no entry. Returns the
    /// number of matching entries.
    package func remove(_ selection: EntrySelection, onlyCounts: Bool = false) async throws -> Int64 {
        let manner: APICall.Query = [
            ("all", selection.isEmpty ? "true" : nil), ("dryRun", onlyCounts ? "true" : nil),
        ]
        return try removedCount(in: try await send(APICall(.delete, ["entries"], query: selection.query + manner)))
    }

    /// Returns the number of removed entries. Throws ``ClientError``, also when there is none.
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
