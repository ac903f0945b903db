import Primitives

/// An entry as the API shows it: the properties that the commands use, and the whole JSON.
package struct HeldEntry: Hashable, Sendable {
    package let key: String
    /// `download`, `json`, `data` or `response`.
    package let kind: String
    /// `nil` for data under a key that the caller chose.
    package let url: String?
    package let isFresh: Bool
    package let contentType: String?
    /// In bytes.
    package let contentLength: Int64
    /// In RFC 3339.
    package let expiryDate: String
    /// `nil` when the body is in the slab.
    package let localPath: String?
    package let tags: [String]
    package let isPinned: Bool
    package let json: JSON

    /// Throws ``ClientError/unexpected(_:)`` when `json` is no entry.
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
