import Primitives

/// An entry as the API shows it: the properties that the commands use, and the whole JSON.
package struct HeldEntry: Hashable, Sendable {
    /// The key.
    package let key: String
    /// `download`, `json`, `data` or `response`.
    package let kind: String
    /// The URL; `nil` for data under a key that the caller chose.
    package let url: String?
    /// Whether it is fresh.
    package let isFresh: Bool
    /// The body's media type; `nil` when unknown.
    package let contentType: String?
    /// The body's length in bytes.
    package let contentLength: Int64
    /// The time at which the entry stops being fresh, in RFC 3339.
    package let expiryDate: String
    /// The body's file; `nil` when the body is in the slab.
    package let localPath: String?
    /// The tags.
    package let tags: [String]
    /// Whether the entry is pinned: it is not evicted to make room.
    package let isPinned: Bool
    /// The whole JSON of the entry.
    package let json: JSON

    /// Reads an entry of an answer. Throws ``ClientError/unexpected(_:)`` when `json` is no entry.
    package init(_ json: JSON?) throws {
        guard let json, let key = json["key"]?.stringValue, let kind = json["kind"]?.stringValue,
            let state = json["state"]?.stringValue, let length = json["contentLength"]?.countValue,
            let expiryDate = json["expiryDate"]?.stringValue
        else { throw ClientError.unexpected("it has no entry") }
        self.key = key
        self.kind = kind
        url = json["url"]?.stringValue
        isFresh = state == "fresh"
        contentType = json["contentType"]?.stringValue
        contentLength = length
        self.expiryDate = expiryDate
        localPath = json["localPath"]?.stringValue
        tags = (json["tags"]?.arrayValue ?? []).compactMap(\.stringValue)
        isPinned = json["pinned"]?.boolValue ?? false
        self.json = json
    }
}
