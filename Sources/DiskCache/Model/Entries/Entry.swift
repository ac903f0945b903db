import Primitives

/// A cached entry: its metadata without its body.
///
/// A value: it shows the entry as it was when it was read. Copies share the fields that stay the same between two
/// publishes, so a copy costs one reference count.
package struct Entry: Sendable {
    /// The way in which an entry came into the cache.
    package enum Kind: String, Sendable, Hashable, CaseIterable {
        /// Fetched from an origin, by URL and parameters.
        case download
        /// JSON that a caller stored by URL and parameters.
        case json
        /// A body that a caller stored under a key of its own.
        case data
        /// An origin's response to an exact request; each variant is an entry.
        case response
    }

    /// The fields that a publish sets; see the properties of ``Entry``.
    package struct Record: Sendable {
        var key: String
        var namespace: String
        var kind: Kind
        var url: String?
        var host: String?
        var params: String?
        var status: Int
        var contentType: String?
        package var contentLength: Int64
        var etag: String?
        var lastModified: String?
        var digest: [UInt8]
        var isJSON: Bool
        var downloadStartDate: Timestamp?
        var downloadEndDate: Timestamp?
        var createdDate: Timestamp
        var localPath: String?
        /// In the order in which the entry got them.
        var tags: [String]
        package var pinned: Bool
        var version: Int64
        var staleAllowance: Duration
        var fields: String?
    }

    private final class Storage: Sendable {
        let record: Record
        let tags: [String]

        init(_ record: Record) {
            self.record = record
            tags = record.tags.count < 2 ? record.tags : Entry.sorted(record.tags.map(ExactText.init))
        }
    }

    private let storage: Storage

    /// The time for which the entry stays fresh, as the caller or the origin stated it: `expiresInSeconds` of the API.
    package internal(set) var ttl: Duration
    /// The instant at which the entry stops being fresh.
    package internal(set) var expiryDate: Timestamp
    /// The number of hits since the body was published.
    package internal(set) var hits: Int64
    /// The time of the last hit; the time of the publish, if the entry has no hits. The date never goes back, even when
    /// the clock does.
    package internal(set) var lastAccessDate: Timestamp

    package init(_ record: Record, ttl: Duration, expiryDate: Timestamp, hits: Int64, lastAccessDate: Timestamp) {
        storage = Storage(record)
        self.ttl = ttl
        self.expiryDate = expiryDate
        self.hits = hits
        self.lastAccessDate = lastAccessDate
    }

    var record: Record { storage.record }

    /// The tags in the order of their bytes.
    static func sorted(_ tags: some Sequence<ExactText>) -> [String] {
        tags.map(\.text).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }

    package static let tagLimit = 256

    /// The most responses to a URL that the cache keeps.
    ///
    /// A look-up reads at most so many responses of a URL, so it would never find a further response.
    package static let variantLimit = 256

    /// The most bytes that the ``fields`` of all responses to a URL may have together. The fields of a single response
    /// may have more.
    ///
    /// A look-up reads the fields of all responses of a URL.
    package static let variantFieldsLimit = 512 << 10

    var fieldsLength: Int { fields?.utf8.count ?? 0 }

    /// The approximate number of bytes of the entry's texts, which come from the origin and the callers and have no
    /// other limit.
    var textLength: Int64 {
        let texts = [
            record.key, record.url, record.host, record.params, record.contentType, record.etag, record.lastModified,
            record.fields, record.localPath,
        ]
        // A tag is stored twice: in the entry's own list and in the index of tags.
        return texts.reduce(0) { $0 + Int64($1?.utf8.count ?? 0) }
            + record.tags.reduce(0) { $0 + 2 * Int64($1.utf8.count) + 32 }
    }

    /// The entry's name in the API.
    package var key: String { storage.record.key }
    package var namespace: String { storage.record.namespace }
    package var kind: Kind { storage.record.kind }
    /// The canonical URL, with the parameters in its query; `nil` for ``Kind/data``.
    package var url: String? { storage.record.url }
    /// The parameters that were given beside the URL, as JSON text; `nil` without parameters.
    package var params: String? { storage.record.params }
    /// The origin's final status; 200 for an entry that a caller stored.
    package var status: Int { storage.record.status }
    /// The media type of the body; `nil` when neither the origin nor the caller stated it.
    package var contentType: String? { storage.record.contentType }
    package var contentLength: Int64 { storage.record.contentLength }
    /// The origin's entity tag, as it was sent; `nil` when it sent none.
    package var etag: String? { storage.record.etag }
    /// The origin's `Last-Modified`, as it was sent; `nil` when it sent none.
    package var lastModified: String? { storage.record.lastModified }
    /// SHA-256 of the body, 32 bytes.
    package var digest: [UInt8] { storage.record.digest }
    /// Whether the body is a JSON text (RFC 8259), regardless of its media type.
    package var isJSON: Bool { storage.record.isJSON }
    /// The time at which the download began; `nil` for an entry that a caller stored.
    package var downloadStartDate: Timestamp? { storage.record.downloadStartDate }
    /// The time at which the download ended; `nil` for an entry that a caller stored.
    package var downloadEndDate: Timestamp? { storage.record.downloadEndDate }
    /// The time at which this body was published.
    package var createdDate: Timestamp { storage.record.createdDate }
    /// The absolute path of the body's file; `nil` when the body is in the slab.
    package var localPath: String? { storage.record.localPath }
    package var tags: [String] { storage.tags }
    /// Whether the entry is exempt from eviction.
    package var pinned: Bool { storage.record.pinned }
    /// A number that grows with every publish in the namespace. Two bodies under one key never have the same version.
    package var version: Int64 { storage.record.version }
    /// The time after its expiry for which the entry may be served stale; zero when no allowance was given.
    package var staleAllowance: Duration { storage.record.staleAllowance }
    /// Selected response fields, as JSON text that only the caller that wrote them interprets; `nil` without fields.
    package var fields: String? { storage.record.fields }

    package func isFresh(at now: Timestamp) -> Bool { now < expiryDate }

    /// Whether the origin can be asked if the body is still current: the entry has a validator (RFC 9110 §8.8).
    package var hasValidator: Bool { etag != nil || lastModified != nil }
}

extension Entry.Record {
    /// The record of an entry that a caller stores without a body, with defaults for all else.
    package init(key: String, kind: Entry.Kind, version: Int64, at now: Timestamp) {
        self.init(
            key: key, namespace: "default", kind: kind, status: 200, contentLength: 0, digest: [], isJSON: false,
            createdDate: now, tags: [], pinned: false, version: version, staleAllowance: .zero)
    }
}
