import DiskCache
import HTTPCaching
import HTTPTypes
import Origin
import Primitives

/// The part of an origin's answer that an entry keeps beside the metadata of every entry: fields with which a later 304
/// is compared and completed, and fields that describe the body to clients.
package struct OriginRecord: Sendable {
    /// The URL that answered, after redirects. A 304 from any other URL does not confirm the held body.
    package var url: String
    /// The stored fields, byte for byte. A field that a 304 lacks stays as it is (RFC 9111 §3.2, §4.3.4).
    var fields: HTTPFields

    private static let freshnessNames: [HTTPField.Name] = [.cacheControl, .expires]
    private static let names: [HTTPField.Name] =
        freshnessNames + [.contentEncoding, .contentDisposition] + namesOfTexts
    /// Fields that the entry's metadata hold as texts. The record holds such a field only if it is not ASCII, because
    /// the text in the metadata then has other bytes.
    private static let namesOfTexts: [HTTPField.Name] = [.contentType, .eTag]

    /// Creates a record from a complete answer. `isAsSent`: whether the body stays in the codings in which it was sent.
    /// Otherwise drops `Content-Encoding`, because the body was decoded, or the coding is that of a file such as `.gz`.
    init(url: String, fields: HTTPFields, isAsSent: Bool) {
        self.url = url
        self.fields = Self.selection(of: fields)
        if !isAsSent { self.fields[.contentEncoding] = nil }
    }

    /// Reads the ``text`` of a record from an entry; `nil` without a record, as in an entry that a caller stored.
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

    /// Replaces the fields that a 304 has, and keeps all others. `Content-Encoding` stays, because it describes the
    /// stored body. With `keepsTag`, the stored entity tag stays, because the tag of the 304 names other bytes.
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
    /// The metadata of a complete answer. `isAsSent` is as in ``OriginRecord``.
    init(of head: OriginHead, isAsSent: Bool, ttl: Duration) {
        self.init(ttl: ttl)
        fields = Self.bounded(OriginRecord(url: head.effectiveURL, fields: head.fields, isAsSent: isAsSent).text)
        status = head.status
        contentType = Self.bounded(head.fields[fields: .contentType].first?.text)
        etag = Self.bounded(head.fields[fields: .eTag].first?.text)
        lastModified = Self.bounded(head.fields[fields: .lastModified].first?.text)
    }

    /// The changes by a 304 to a request with the validators of `held` (RFC 9111 §4.3.4). `lifetime` gets the fields,
    /// stored and new ones, that decide about the freshness. `nil` when the 304 does not confirm the held entry: a
    /// redirect now leads to another URL, so the 304 is about another resource; or the 304 names another version of
    /// the body.
    init?(of head: OriginHead, confirming held: Entry, now: Timestamp, lifetime: (HTTPFields) -> Duration) {
        let validators = held.validators
        // The assumed time of the held answer's `Date`: a minute before the download's start, because clocks differ.
        let madeAt = held.downloadStartDate.map { $0 - .seconds(60) }
        guard var record = OriginRecord(held.fields), record.url == head.effectiveURL,
            validators.areConfirmed(by: head.fields, madeAt: madeAt, now: now)
        else { return nil }
        // An entity tag of the 304 that names other bytes does not replace the stored tag.
        let keepsTag = !validators.mayBeReplaced(byTagOf: head.fields)
        record.update(from: head.fields, keepsTag: keepsTag)
        var fields = record.freshness
        for name in [HTTPField.Name.date, .age] { fields[values: name] = head.fields[values: name] }
        self.init(ttl: lifetime(fields))
        self.fields = Self.bounded(record.text)
        etag = keepsTag ? nil : Self.bounded(head.fields[fields: .eTag].first?.text)
        lastModified = Self.bounded(head.fields[fields: .lastModified].first?.text)
    }

    /// Returns `nil` for a text over 1 KiB: a field of 100 KB would burden the index, answers and lists.
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
        case .json, .data, .page, .resource: known = nil
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
