import Primitives

/// The metadata that a publish gives to the received body.
public struct EntryMetadata: Sendable {
    /// The origin's final status.
    public var status = 200
    /// The media type of the body.
    public var contentType: String?
    /// The origin's entity tag, as it was sent.
    public var etag: String?
    /// The origin's `Last-Modified`, as it was sent.
    public var lastModified: String?
    /// The parameters that were given beside the URL, as JSON text.
    public var params: String?
    /// The time at which the download began; `nil` for an entry that a caller stored.
    public var downloadStartDate: Timestamp?
    /// The time at which the download ended; `nil` for an entry that a caller stored.
    public var downloadEndDate: Timestamp?
    /// The time for which the entry stays fresh. With zero or less the entry is stale at once.
    public var ttl: Duration
    /// The time at which the entry stops being fresh, at most `ttl` after the publish; `nil`: `ttl` after the publish.
    public var expiryDate: Timestamp?
    /// The tags; `nil`: the tags of the replaced entry. If these are too many, the tags that the entry has held longest
    /// are dropped. The reservation's tags are added in both cases.
    public var tags: [String]?
    /// Returns the tags of the replaced entry that the new entry does not take over; `nil`: it takes over all tags.
    /// Called only when `tags` is `nil`. Must not wait.
    public var droppedTags: (@Sendable (Entry) -> [String])?
    /// Whether eviction spares the entry; `nil`: like the replaced entry, or `false` without a replaced entry.
    public var pinned: Bool?
    /// The time after its expiry for which the entry may be served stale. An entry with an allowance stays until room
    /// is needed.
    public var staleAllowance: Duration = .zero
    /// Selected response fields, as JSON text in a format of the caller.
    public var fields: String?

    /// Metadata with that ttl and defaults for all else.
    public init(ttl: Duration) {
        self.ttl = ttl
    }
}

/// The changes that a revalidation makes to an entry; the body stays (RFC 9111 §4.3.4). A property that is `nil` leaves
/// the entry's value as it is.
public struct EntryRefresh: Sendable {
    /// The time from now for which the entry stays fresh.
    public var ttl: Duration
    /// The time at which the entry stops being fresh, at most `ttl` from now; `nil`: `ttl` from now.
    public var expiryDate: Timestamp?
    /// The entity tag of the 304.
    public var etag: String?
    /// The `Last-Modified` of the 304.
    public var lastModified: String?
    /// The media type of the 304.
    public var contentType: String?
    /// The time at which the request was sent.
    public var downloadStartDate: Timestamp?
    /// The time at which the answer was complete.
    public var downloadEndDate: Timestamp?
    /// The tags that replace the entry's tags; `nil`: the entry keeps its own. If these are too many, the tags that the
    /// entry has held longest are dropped. The reservation's tags are added in both cases.
    public var tags: [String]?
    /// Returns the tags that the entry loses; `nil`: it loses none. Called only when `tags` is `nil`. Must not wait.
    public var droppedTags: (@Sendable (Entry) -> [String])?
    /// Whether eviction spares the entry.
    public var pinned: Bool?
    /// The time after its expiry for which the entry may be served stale.
    public var staleAllowance: Duration?
    /// Selected response fields, as JSON text in a format of the caller.
    public var fields: String?

    /// A refresh that makes the entry fresh for `ttl` from now and changes nothing else.
    public init(ttl: Duration) {
        self.ttl = ttl
    }
}

/// The outcome of a publish.
public enum PublishOutcome: Sendable {
    /// The entry is kept, durably.
    case stored(Entry)
    /// The entry is not kept. Only the callers that waited for this publish get the entry. The possible reasons:
    ///
    /// - A purge matched the entry while its body was being received.
    /// - The URL has ``Entry/variantLimit`` responses, and all are pinned.
    /// - The fields of the URL's pinned responses leave no room for the fields of this response
    ///   (``Entry/variantFieldsLimit``).
    ///
    /// `body` is `nil` when the publish was a refresh.
    case notKept(Entry, body: StoredBody?)

    /// The entry, kept or not.
    public var entry: Entry {
        switch self {
        case .stored(let entry), .notKept(let entry, _): entry
        }
    }
}
