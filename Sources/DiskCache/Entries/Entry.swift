import Primitives

/// One cached thing: all that is known about it but its body.
///
/// A value: it shows the entry as it was when it was read. What never changes between two publishes is shared, so a
/// copy costs one reference count.
public struct Entry: Sendable {
    /// Where an entry came from.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// Fetched from an origin, by URL and parameters.
        case download
        /// JSON that a caller stored by URL and parameters.
        case json
        /// What a caller stored under a key of its own.
        case data
        /// What an origin said to one exact request, one entry a variant.
        case response
    }

    /// What one publish fixes; see the properties of ``Entry``.
    struct Record: Sendable {
        var key: String
        var namespace: String
        var kind: Kind
        var url: String?
        var host: String?
        var params: String?
        var status: Int
        var contentType: String?
        var contentLength: Int64
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
        var pinned: Bool
        var version: Int64
        var staleAllowance: Duration
        var fields: String?
    }

    private final class Storage: Sendable {
        let record: Record
        /// The tags as they are shown.
        let tags: [String]

        init(_ record: Record) {
            self.record = record
            tags = record.tags.count < 2 ? record.tags : TagUnion.sorted(record.tags.map(ExactText.init))
        }
    }

    private let storage: Storage

    /// For how long the caller, or the origin, said that the entry stays fresh: `expiresInSeconds` of the API.
    public internal(set) var ttl: Duration
    /// The instant at which the entry stops being fresh.
    public internal(set) var expiryDate: Timestamp
    /// How often the entry was handed out since its body was published.
    public internal(set) var hits: Int64
    /// When the entry was last handed out; when it was published, if never. It never goes back, even when the clock
    /// does.
    public internal(set) var lastAccessDate: Timestamp

    init(_ record: Record, ttl: Duration, expiryDate: Timestamp, hits: Int64, lastAccessDate: Timestamp) {
        storage = Storage(record)
        self.ttl = ttl
        self.expiryDate = expiryDate
        self.hits = hits
        self.lastAccessDate = lastAccessDate
    }

    var record: Record { storage.record }

    /// How many tags an entry may have.
    public static let tagLimit = 256

    /// About how many bytes its texts take: the origin's and the callers' words, which have no limit of their own.
    var textLength: Int64 {
        let texts = [
            record.key, record.url, record.host, record.params, record.contentType, record.etag, record.lastModified,
            record.fields, record.localPath,
        ]
        // A tag stands in the entry's own list and in the index of tags.
        return texts.reduce(0) { $0 + Int64($1?.utf8.count ?? 0) }
            + record.tags.reduce(0) { $0 + 2 * Int64($1.utf8.count) + 32 }
    }

    /// What names the entry in the API.
    public var key: String { storage.record.key }
    /// The namespace it belongs to.
    public var namespace: String { storage.record.namespace }
    /// Where it came from.
    public var kind: Kind { storage.record.kind }
    /// The canonical URL, with the parameters in its query; `nil` for ``Kind/data``.
    public var url: String? { storage.record.url }
    /// The parameters that were given beside the URL, as JSON text; `nil` without any.
    public var params: String? { storage.record.params }
    /// The origin's final status; 200 for what a caller stored.
    public var status: Int { storage.record.status }
    /// The media type of the body; `nil` when nobody stated one.
    public var contentType: String? { storage.record.contentType }
    /// The length of the body in bytes.
    public var contentLength: Int64 { storage.record.contentLength }
    /// The origin's entity tag, as it was sent; `nil` when it sent none.
    public var etag: String? { storage.record.etag }
    /// The origin's `Last-Modified`, as it was sent; `nil` when it sent none.
    public var lastModified: String? { storage.record.lastModified }
    /// SHA-256 of the body, 32 bytes.
    public var digest: [UInt8] { storage.record.digest }
    /// Whether the body is one JSON text (RFC 8259), whatever its media type says.
    public var isJSON: Bool { storage.record.isJSON }
    /// When the download began; `nil` for what a caller stored.
    public var downloadStartDate: Timestamp? { storage.record.downloadStartDate }
    /// When the download ended; `nil` for what a caller stored.
    public var downloadEndDate: Timestamp? { storage.record.downloadEndDate }
    /// When this body was published.
    public var createdDate: Timestamp { storage.record.createdDate }
    /// The absolute path of the body's file; `nil` when the body is in the slab.
    public var localPath: String? { storage.record.localPath }
    /// The tags, sorted.
    public var tags: [String] { storage.tags }
    /// Whether the entry is exempt from eviction.
    public var pinned: Bool { storage.record.pinned }
    /// A number that grows with every publish in the namespace: two bodies under one key never share it.
    public var version: Int64 { storage.record.version }
    /// For how long after its expiry somebody allowed the entry to be served stale; zero when nobody did.
    public var staleAllowance: Duration { storage.record.staleAllowance }
    /// Selected response fields, as JSON text that only its writer understands; `nil` without any.
    public var fields: String? { storage.record.fields }

    /// Whether the entry has not expired at `now`.
    public func isFresh(at now: Timestamp) -> Bool { now < expiryDate }

    /// Whether the origin can be asked whether the body is still right (RFC 9110 §8.8).
    public var hasValidator: Bool { etag != nil || lastModified != nil }
}
