import DiskCache
import HTTPCaching
import HTTPTypes
import Primitives

/// The part of an origin's answer that an entry keeps beside the metadata of every entry: fields for comparing and
/// completing a later 304, and fields that describe the body to its readers.
package struct OriginRecord: Sendable {
    /// The URL that answered, after redirects. A 304 from any other URL does not confirm the held body.
    package var url: String
    /// The stored fields, byte for byte. A field that a 304 lacks stays as it is (RFC 9111 §3.2, §4.3.4).
    var fields: HTTPFields

    private static let freshnessNames: [HTTPField.Name] = [.cacheControl, .expires]
    private static let names: [HTTPField.Name] =
        freshnessNames + [.contentEncoding, .contentDisposition] + namesOfTexts
    /// Fields that the entry's metadata hold as texts. The record holds them only where they are not ASCII, because
    /// such a text has other bytes than the field.
    private static let namesOfTexts: [HTTPField.Name] = [.contentType, .eTag]

    /// Creates a record from a complete answer. When the body is not kept in the content codings in which it was sent,
    /// `Content-Encoding` is dropped: it no longer applies, or it describes a file that is compressed itself.
    init(url: String, fields: HTTPFields, isAsSent: Bool) {
        self.url = url
        self.fields = Self.selection(of: fields)
        if !isAsSent { self.fields[.contentEncoding] = nil }
    }

    /// Reads the text of an entry; `nil` for any other text, and for an entry that a caller stored.
    package init?(_ text: String?) {
        guard let text, let json = try? JSON(parsing: text), let url = json["url"]?.stringValue else { return nil }
        self.url = url
        fields = [:]
        for name in Self.names {
            for value in json[name.canonicalName]?.arrayValue ?? [] {
                guard let field = value.stringValue.flatMap({ HTTPField(name: name, latin1: $0) }) else { continue }
                fields.append(field)
            }
        }
    }

    /// The text for the entry. Field values are in Latin-1, so that every byte is preserved.
    var text: String {
        let members = Self.names.compactMap { name -> JSON.Member? in
            let values = fields[fields: name].map { JSON.string($0.latin1) }
            return values.isEmpty ? nil : JSON.Member(name.canonicalName, .array(values))
        }
        return JSON.object([.init("url", .string(url))] + members).text
    }

    var freshness: HTTPFields { HTTPFields(fields.filter { Self.freshnessNames.contains($0.name) }) }

    /// Replaces fields by those of a 304, and keeps the rest. `Content-Encoding` stays, because it describes the stored
    /// body. With `keepsTag`, the stored entity tag stays, because the tag of the 304 names other bytes.
    mutating func update(from newFields: HTTPFields, keepsTag: Bool) {
        let new = Self.selection(of: newFields)
        for name in Self.names where name != .contentEncoding && newFields.contains(name) {
            if name == .eTag, keepsTag { continue }
            fields[fields: name] = new[fields: name]
        }
    }

    private static func selection(of fields: HTTPFields) -> HTTPFields {
        HTTPFields(
            fields.filter { field in
                names.contains(field.name) && (!namesOfTexts.contains(field.name) || !field.isASCII)
            })
    }
}

extension EntryMetadata {
    /// `nil` above 1 KiB: a field of 100 KB from an origin would burden the index, heads of answers and lists.
    static func bounded(_ text: String?) -> String? { text.flatMap { $0.utf8.count <= 1024 ? $0 : nil } }
}

extension Entry {
    /// The origin's fields that each answer with the body repeats byte for byte: `Content-Encoding` unless the body was
    /// decoded, `Content-Disposition`, and a `Content-Type` that is not ASCII.
    package var contentFields: HTTPFields {
        let known: HTTPFields?
        switch kind {
        case .download: known = OriginRecord(fields)?.fields
        case .response: known = fields.flatMap { StoredResponse(text: $0) }?.fields
        case .json, .data: known = nil
        }
        return HTTPFields(
            (known ?? [:]).filter { field in
                switch field.name {
                case .contentEncoding, .contentDisposition: true
                case .contentType: !field.isASCII
                default: false
                }
            })
    }

    /// The URL that answered, after redirects; `nil` for entries of other kinds than ``Kind/download``.
    package var finalURL: String? {
        kind == .download ? OriginRecord(fields)?.url : nil
    }

    var validators: Validators {
        let exactTag = OriginRecord(fields)?.fields[fields: .eTag].first?.latin1
        return Validators(etag: exactTag ?? etag, lastModified: lastModified)
    }

    /// The file name that the origin suggests by `Content-Disposition`, without directories; `nil` when there is none.
    package var fileName: String? {
        contentFields[fields: .contentDisposition].first.flatMap { ContentDisposition($0.text).fileName }
    }
}
