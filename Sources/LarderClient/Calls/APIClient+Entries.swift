import Primitives

/// The filters of `GET /entries`: an entry must match every filter that is not `nil`. If all are `nil`, all match.
package typealias EntrySelection = APICall.Query

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
            let page = try await send(APICall(["entries"], query: selection + place)).json()
            let entries = try (page["entries"]?.arrayValue ?? []).map { try HeldEntry($0) }
            try body(entries)
            left -= entries.count
            cursor = page["nextCursor"]?.stringValue
        } while cursor != nil && left > 0
    }

    /// Removes the matching entries (without a filter, all), or only counts them. Returns the number of entries.
    package func remove(_ selection: EntrySelection, onlyCounts: Bool = false) async throws -> Int64 {
        let isAll = selection.allSatisfy { $0.value == nil }
        let manner: APICall.Query = [("all", isAll ? "true" : nil), ("dryRun", onlyCounts ? "true" : nil)]
        return try removedCount(in: try await send(APICall(.delete, ["entries"], query: selection + manner)))
    }

    /// Returns the number of removed entries. Throws ``ClientError``, also when the key has no entry.
    package func remove(key: String) async throws -> Int64 {
        try removedCount(in: try await send(APICall(.delete, ["entries", key])))
    }

    func removedCount(in reply: APIReply) throws -> Int64 {
        guard let count = try reply.json()["removed"]?.countValue else {
            throw ClientError.unexpected("the number of removed entries is missing")
        }
        return count
    }

    /// Returns the key. Asks the server for the key of a URL, because the server decides on the canonical form.
    package func key(of reference: EntryReference) async throws -> String {
        switch reference {
        case .key(let key): return key
        case .url(let url): return try await explain(url).key
        }
    }

    package func explain(_ url: String) async throws -> Explanation {
        try Explanation(try await send(APICall(["explain"], query: [("url", url)])).json())
    }
}

package enum EntryReference: Hashable, Sendable {
    /// A key, in any form that the API accepts.
    case key(String)
    /// A URL, in any spelling.
    case url(String)

    /// Reads a text with `://` as a URL, because no key contains a slash.
    package init(_ text: String) {
        self = text.utf8.contains("://".utf8) ? .url(text) : .key(text)
    }
}

/// An entry as the API shows it: the properties that the commands use, and the whole JSON.
package struct HeldEntry: Hashable, Sendable {
    package let key: String
    package let kind: String
    package let isFresh: Bool
    /// In bytes.
    package let contentLength: Int64
    /// In RFC 3339.
    package let expiryDate: String
    package let json: JSON
    /// `nil` for data under a key that the caller chose.
    package var url: String? { json["url"]?.stringValue }
    package var contentType: String? { json["contentType"]?.stringValue }
    /// `nil` when the body is in the slab.
    package var localPath: String? { json["localPath"]?.stringValue }
    package var tags: [String] { (json["tags"]?.arrayValue ?? []).compactMap(\.stringValue) }
    package var isPinned: Bool { json["pinned"]?.boolValue ?? false }

    /// Throws ``ClientError/unexpected(_:)`` when `json` is no entry.
    package init(_ json: JSON?) throws {
        guard let json, let key = json["key"]?.stringValue, let kind = json["kind"]?.stringValue,
            let state = json["state"]?.stringValue, let length = json["contentLength"]?.countValue,
            let expiryDate = json["expiryDate"]?.stringValue
        else { throw ClientError.unexpected("it has no entry") }
        self.key = key
        self.kind = kind
        isFresh = state == "fresh"
        contentLength = length
        self.expiryDate = expiryDate
        self.json = json
    }
}

/// The state of a URL in the cache, as `GET /explain` reports it.
package struct Explanation: Sendable {
    /// The canonical URL.
    package let url: String
    package let key: String
    package let namespace: String
    /// The path of the body's file, or of the file that a new body would get; `nil` when the body may be in the slab.
    package var localPath: String? { json["localPath"]?.stringValue }
    package let isHit: Bool
    /// The reason for ``isHit``, for a person.
    package let detail: String
    package let entry: HeldEntry?
    /// The responses that `/fetch` stored for the URL, one for each variant.
    package let responses: [HeldEntry]
    package let json: JSON

    init(_ json: JSON) throws {
        guard let url = json["url"]?.stringValue, let key = json["key"]?.stringValue,
            let namespace = json["namespace"]?.stringValue, let isHit = json["hit"]?.boolValue,
            let detail = json["detail"]?.stringValue
        else { throw ClientError.unexpected("it has no explanation") }
        self.url = url
        self.key = key
        self.namespace = namespace
        self.isHit = isHit
        self.detail = detail
        entry = try json["entry"] == .null ? nil : HeldEntry(json["entry"])
        responses = try (json["responses"]?.arrayValue ?? []).map { try HeldEntry($0) }
        self.json = json
    }
}

/// The server may be broken or hostile, so every number returned here is safe to calculate with.
extension JSON {
    /// `nil` when the value is no whole number, does not fit into an `Int64`, or is negative.
    package var countValue: Int64? { integerValue.flatMap { $0 < 0 ? nil : $0 } }
    /// In seconds, limited as by `Duration.clamping(seconds:)`; `nil` when the value is no number.
    package var durationValue: Duration? { doubleValue.map { .clamping(seconds: $0) } }
}

extension Int64 {
    /// `Int64.max` when the sum does not fit.
    package func addingClamped(_ other: Int64) -> Int64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? .max : sum
    }
}
