import DiskCache
import HTTPCaching
import HTTPTypes
import Primitives

/// A caller's request for a download, from `POST /download`.
package struct DownloadRequest: Sendable {
    package var url: CanonicalURL
    /// The parameters as given, a JSON object; `nil` without parameters. Stored only to show them to callers.
    package var params: JSON?
    /// Request fields for the origin. Requests with different fields have different entries.
    package var fields: HTTPFields
    /// The time for which the entry stays fresh; `nil` leaves it to the origin, or else to the default.
    package var ttl: Duration?
    /// Whether a hit renews the expiry date. Default: no.
    package var updatesExpiry = false
    /// Whether the origin is asked although the entry is fresh. Default: no.
    package var refresh = false
    /// The time after expiry in which a stale entry is served at once, and refreshed in the background; `nil`: none.
    package var staleWhileRevalidate: Duration?
    /// The time after expiry in which a stale entry may be served when the origin fails; `nil`: none.
    package var staleIfError: Duration?
    /// Tags that the entry gets beside its existing tags.
    package var tags: Set<String> = []
    /// Whether the entry is pinned; `nil` leaves it unchanged.
    package var pinned: Bool?

    package init(url: CanonicalURL, params: JSON? = nil, fields: HTTPFields = [:]) {
        self.url = url
        self.params = params
        self.fields = fields
    }

    /// Whether the body stays in the origin's content codings, because the caller sends `Accept-Encoding`.
    var keepsCodings: Bool { fields.contains(.acceptEncoding) }

    var wishes: EntryWishes {
        get {
            EntryWishes(
                tags: tags, staleAllowance: max(staleWhileRevalidate ?? .zero, staleIfError ?? .zero), pinned: pinned)
        }
        set { (tags, staleIfError, pinned) = (newValue.tags, newValue.staleAllowance, newValue.pinned) }
    }

    /// Compares the values from which the ``key`` is made, because different values may have the same MD5.
    func isSameResource(as other: DownloadRequest) -> Bool {
        url == other.url && fields == other.fields
    }

    package var key: CacheKey {
        guard !fields.isEmpty else { return .url(canonical: url.string) }
        return .url(canonical: url.string, requestFields: fields.map { ($0.name.canonicalName, $0.value) })
    }
}

/// The tags, stale allowance and pin that the callers of a download ask for, united over all callers.
struct EntryWishes: Sendable {
    var tags: Set<String> = []
    /// The time after the expiry for which the entry may be served stale.
    var staleAllowance: Duration = .zero
    /// `nil`: the pin stays as it is. A caller that pins prevails over a caller that unpins.
    var pinned: Bool?

    mutating func formUnion(_ other: EntryWishes) {
        tags.formUnion(other.tags)
        staleAllowance = max(staleAllowance, other.staleAllowance)
        if let pinned = other.pinned { self.pinned = pinned || self.pinned == true }
    }

    func areFulfilled(by entry: Entry) -> Bool {
        tags.isSubset(of: entry.tags) && staleAllowance <= entry.staleAllowance
            && (pinned == nil || pinned == entry.pinned)
    }
}

package enum DownloadOutcome: String, Sendable, CaseIterable {
    /// Answered from the cache with a fresh entry, without asking the origin.
    case cached
    case downloaded
    /// The origin confirmed the held entry (304).
    case revalidated
    /// Answered by a download that was already running for another caller.
    case joined
    /// Answered from the cache with a stale entry, as the request allowed.
    case stale
}

package struct DownloadResult: Sendable {
    package var outcome: DownloadOutcome
    package var entry: Entry
    /// Whether the cache got a body, an expiry date from the origin, tags or a pin. A slide does not count.
    package var isChange = false
}

package struct DownloadStatus: Sendable {
    package enum State: String, Sendable, CaseIterable {
        case running, succeeded, failed, cancelled
    }

    package var key: String
    package var url: String
    package var state: State
    /// The bytes of the body received so far, after decoding.
    package var receivedBytes: Int64
    /// The length of the whole body, in bytes; `nil` when the origin did not state it.
    package var totalBytes: Int64?
    /// The average speed since the start.
    package var bytesPerSecond: Double
    package var waiters: Int
    package var startDate: Timestamp
    /// The time of the end; `nil` while the download runs.
    package var endDate: Timestamp?
    /// The ``Entry/version`` of the entry that the download made; `nil` unless it succeeded. The entry itself is only
    /// in the cache: it may be changed, replaced or removed at any time. See ``DownloadManager/entry(of:)``.
    package var entryVersion: Int64?
    /// The reason for the failure; `nil` unless the download failed.
    package var error: DownloadError?
}

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
