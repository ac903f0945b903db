import HTTPTypes
import Primitives

/// What an entry keeps of its origin's answer beside the metadata that every entry has: what a later 304 is compared
/// with and completed by.
struct OriginRecord {
    /// The URL that answered, after redirects. A 304 from any other says nothing about the body that is held.
    var url: String
    /// The stored fields that freshness comes from, and that a 304 without them leaves as they are (RFC 9111 §3.2,
    /// §4.3.4).
    var freshness: HTTPFields

    private static let names: [HTTPField.Name] = [.cacheControl, .expires]

    /// From a complete answer.
    init(url: String, fields: HTTPFields) {
        self.url = url
        freshness = HTTPFields(fields.filter { Self.names.contains($0.name) })
    }

    /// From the text that an entry kept; `nil` when it is no such text, as with what a caller stored.
    init?(_ text: String?) {
        guard let text, let json = try? JSON(parsing: text), let url = json["url"]?.stringValue else { return nil }
        self.url = url
        freshness = [:]
        for name in Self.names {
            freshness[values: name] = (json[name.canonicalName]?.arrayValue ?? []).compactMap(\.stringValue)
        }
    }

    /// The text for the entry.
    var text: String {
        let fields = Self.names.map { name in
            JSON.Member(name.canonicalName, .array(freshness[values: name].map(JSON.string)))
        }
        return JSON.object([.init("url", .string(url))] + fields).text
    }

    /// Takes what a 304 says anew, and keeps the rest.
    mutating func update(from fields: HTTPFields) {
        for name in Self.names where !fields[values: name].isEmpty {
            freshness[values: name] = fields[values: name]
        }
    }
}
