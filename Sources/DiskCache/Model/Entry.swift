import Primitives

/// The metadata of a cached entry when it was read. Copies share most fields, so a copy costs one reference count.
package struct Entry: Sendable {
    package enum Kind: String, Sendable, Hashable, CaseIterable {
        /// Fetched from an origin, by URL and parameters.
        case download
        case json
        case data
        /// An origin's response to an exact request; each variant is an entry.
        case response
        /// A captured page. The body lists its captures; the captures' other bodies are ``resource`` entries.
        case page
        /// A body that captures of pages share, found by its digest. It stays as long as a capture uses it: no filter,
        /// limit or expiry removes it, and no listing or count includes it. Its bytes count against the disk limit.
        case resource

        /// The kinds that callers see.
        package static let listed = allCases.filter { $0 != .resource }
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
        var holders = 0
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
    var record: Record { storage.record }
    /// The time for which the caller or the origin declared the entry fresh: `expiresInSeconds` of the API.
    package internal(set) var ttl: Duration
    /// The entry is fresh before this instant.
    package internal(set) var expiryDate: Timestamp
    /// The hits since the body was published.
    package internal(set) var hits: Int64
    /// The time of the last hit, or of the publish if there was none. Never goes back, even when the clock does.
    package internal(set) var lastAccessDate: Timestamp

    package init(_ record: Record, ttl: Duration, expiryDate: Timestamp, hits: Int64, lastAccessDate: Timestamp) {
        storage = Storage(record)
        self.ttl = ttl
        self.expiryDate = expiryDate
        self.hits = hits
        self.lastAccessDate = lastAccessDate
    }

    /// The tags in the order of their bytes.
    static func sorted(_ tags: some Sequence<ExactText>) -> [String] {
        tags.map(\.text).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }

    package static let tagLimit = 256
    /// The most responses to a URL that the cache keeps, because a look-up reads no more than these.
    package static let variantLimit = 256
    /// The most bytes of ``fields`` in all responses to a URL, because a look-up reads all. One response may have more.
    package static let variantFieldsLimit = 512 << 10
    var fieldsLength: Int { fields?.utf8.count ?? 0 }

    /// The approximate length of the texts from the origin and from callers. It is part of the entry's cost on disk.
    var textLength: Int64 {
        let texts = [
            record.key, record.url, record.host, record.params, record.contentType, record.etag, record.lastModified,
            record.fields, record.localPath,
        ]
        // A tag is stored twice: in the entry's own list and in the index of tags.
        return texts.reduce(0) { $0 + Int64($1?.utf8.count ?? 0) }
            + record.tags.reduce(0) { $0 + 2 * Int64($1.utf8.count) + 32 }
    }

    package var key: String { storage.record.key }
    package var namespace: String { storage.record.namespace }
    package var kind: Kind { storage.record.kind }
    /// Canonical, with the parameters in its query; as sent for ``Kind/response``; `nil` for ``Kind/data``.
    package var url: String? { storage.record.url }
    /// JSON text that the caller gave beside the URL.
    package var params: String? { storage.record.params }
    /// The origin's final status; 200 for an entry that a caller stored.
    package var status: Int { storage.record.status }
    package var contentType: String? { storage.record.contentType }
    package var contentLength: Int64 { storage.record.contentLength }
    /// `etag` and `lastModified` are the origin's texts, unchanged.
    package var etag: String? { storage.record.etag }
    package var lastModified: String? { storage.record.lastModified }
    /// SHA-256 of the body, 32 bytes.
    package var digest: [UInt8] { storage.record.digest }
    /// Whether the body is JSON (RFC 8259). A charset in the media type must decode the bytes as UTF-8 does.
    package var isJSON: Bool { storage.record.isJSON }
    /// `nil` for an entry that a caller stored, as is ``downloadEndDate``.
    package var downloadStartDate: Timestamp? { storage.record.downloadStartDate }
    package var downloadEndDate: Timestamp? { storage.record.downloadEndDate }
    package var createdDate: Timestamp { storage.record.createdDate }
    /// Absolute; `nil` when the body is in the slab.
    package var localPath: String? { storage.record.localPath }
    package var tags: [String] { storage.tags }
    /// Exempt from eviction because a caller wants so.
    package var pinned: Bool { storage.record.pinned }
    /// The number of holders that have the entry as a member of their generations; see ``GenerationStage``.
    package var holders: Int { storage.record.holders }
    /// Whether there is a holder. Then only a removal by key or URL removes the entry, and it may be served stale.
    package var held: Bool { holders > 0 }
    /// Exempt from eviction and from the sweep.
    package var isExempt: Bool { pinned || held }
    /// Grows with every publish in the namespace. Two bodies under one key never have the same version.
    package var version: Int64 { storage.record.version }
    /// The time after the expiry for which the entry may be served stale.
    package var staleAllowance: Duration { storage.record.staleAllowance }
    /// Selected response fields, as JSON text that only the caller that wrote them interprets.
    package var fields: String? { storage.record.fields }

    package func isFresh(at now: Timestamp) -> Bool { now < expiryDate }
    /// Whether the origin can be asked if the body is still current (RFC 9110 §8.8).
    package var hasValidator: Bool { etag != nil || lastModified != nil }

    /// The result is the same whether the entry was read before or after the commit of a flush that wrote the hits.
    func applying(_ pending: PendingHits?) -> Entry {
        guard let pending, pending.version == version else { return self }
        var entry = self
        entry.hits = max(entry.hits, pending.writtenHits ?? 0) + pending.hits
        entry.lastAccessDate = max(lastAccessDate, pending.lastAccess)
        if let slide = pending.slide { entry.apply(slide) }
        return entry
    }

    mutating func apply(_ slide: PendingHits.Slide) {
        (ttl, expiryDate) = (slide.ttl, slide.expiryDate)
    }
}

extension Entry.Record {
    /// Takes over the values of an answer that confirms the body (RFC 9111 §4.3.4); `nil` leaves a value as it is.
    mutating func refresh(by answer: EntryMetadata) {
        etag = answer.etag ?? etag
        lastModified = answer.lastModified ?? lastModified
        contentType = answer.contentType ?? contentType
        downloadStartDate = answer.downloadStartDate ?? downloadStartDate
        downloadEndDate = answer.downloadEndDate ?? downloadEndDate
        fields = answer.fields ?? fields
    }

    package init(key: String, kind: Entry.Kind, version: Int64, at now: Timestamp) {
        self.init(
            key: key, namespace: "default", kind: kind, status: 200, contentLength: 0, digest: [], isJSON: false,
            createdDate: now, tags: [], pinned: false, version: version, staleAllowance: .zero)
    }
}

/// The hits of an entry that the index does not have yet, and perhaps a slide: a renewal of its expiry date by a hit.
struct PendingHits: Sendable, Equatable {
    struct Slide: Sendable, Equatable {
        var ttl: Duration
        var expiryDate: Timestamp
    }

    /// The hits and the renewed expiry date apply to no other version of the entry.
    var version: Int64
    /// The hits since `writtenHits`, if that is set.
    var hits: Int64 = 0
    var lastAccess = Timestamp(milliseconds: .min)
    var slide: Slide?
    /// The number of hits of the entry in the index after a flush; `nil` when no flush has written hits.
    var writtenHits: Int64?

    /// If the versions differ, the newer version replaces the older one.
    mutating func merge(_ later: PendingHits) {
        guard later.version == version else {
            if later.version > version { self = later }
            return
        }
        hits = later.writtenHits == nil ? hits + later.hits : later.hits
        writtenHits = later.writtenHits ?? writtenHits
        lastAccess = max(lastAccess, later.lastAccess)
        slide = later.slide ?? slide
    }

    /// The pending hits after the flush that brought the entry to `hits` hits.
    func written(hits: Int64) -> PendingHits {
        var written = self
        (written.hits, written.writtenHits) = (0, hits)
        return written
    }
}

/// Joins the tags of an entry, each tag once. The tags held for longest come first.
enum TagUnion {
    /// The tags of `held` that are not in `more`, and then the sorted tags of `more`.
    static func tags(_ held: [String], adding more: [String]) -> [String] {
        let new = Set(more.map(ExactText.init))
        var known = new
        return held.filter { known.insert(ExactText($0)).inserted } + Entry.sorted(new)
    }

    /// The tags of a published entry: `stated`, or if that is `nil`, the tags of the replaced or refreshed entry `held`
    /// without the tags that `dropped` returns. Adds the reservation's tags `new`. Drops the oldest tags of `held` over
    /// the limit, because a store must succeed even if an origin names another group (RFC 9875) each time.
    static func tags(
        stated: [String]?, held: Entry?, dropping dropped: (@Sendable (Entry) -> [String])?, adding new: Set<ExactText>
    ) -> [String] {
        let new = new.map(\.text)
        if let stated { return tags(stated, adding: new) }
        guard let held else { return tags([], adding: new) }
        let gone = Set((dropped?(held) ?? []).map(ExactText.init))
        let all = tags(held.record.tags.filter { !gone.contains(ExactText($0)) }, adding: new)
        // When the new tags alone exceed the limit, the publish fails.
        return new.count > Entry.tagLimit ? all : all.suffix(Entry.tagLimit)
    }
}

/// The metadata that a publish gives to the received body, or that a revalidation (RFC 9111 §4.3.4) changes while the
/// body stays: then `nil` leaves a value as it is, and `status` and `params` have no effect.
package struct EntryMetadata: Sendable {
    package var status = 200
    package var contentType: String?
    package var etag: String?
    package var lastModified: String?
    /// JSON text that the caller gave beside the URL.
    package var params: String?
    package var downloadStartDate: Timestamp?
    package var downloadEndDate: Timestamp?
    /// Zero or less makes the entry stale at once.
    package var ttl: Duration
    /// Lies at most `ttl` after the publish; `nil`: exactly `ttl` after the publish.
    package var expiryDate: Timestamp?
    /// `nil`: the tags of the replaced entry, except the oldest beyond the limit. The reservation's tags are added.
    package var tags: [String]?
    /// Returns the tags of the replaced entry to drop; `nil`: none. Called only when `tags` is `nil`. Must not wait.
    package var droppedTags: (@Sendable (Entry) -> [String])?
    /// `nil`: like the replaced entry, or `false` without a replaced entry.
    package var pinned: Bool?
    /// The time after the expiry for which the entry may be served stale. Such an entry stays until room is needed.
    package var staleAllowance: Duration?
    /// Selected response fields, as JSON text in a format of the caller.
    package var fields: String?

    package init(ttl: Duration) {
        self.ttl = ttl
    }
}
