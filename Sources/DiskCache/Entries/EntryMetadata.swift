import Primitives

/// What a publish says about the body that was received.
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
    /// When the download began; `nil` for what a caller stored.
    public var downloadStartDate: Timestamp?
    /// When the download ended; `nil` for what a caller stored.
    public var downloadEndDate: Timestamp?
    /// For how long the entry stays fresh; zero or less: it is stale at once.
    public var ttl: Duration
    /// When it stops being fresh, at most `ttl` after the publish; `nil`: then.
    public var expiryDate: Timestamp?
    /// The tags; `nil`: those of the entry that is replaced, of which those that were held for longest go when they
    /// would be too many. Tags of the reservation are added.
    public var tags: [String]?
    /// Asked with the entry that is replaced: which of its tags are not taken over; `nil`: all are. For when `tags`
    /// says nothing. It must not wait.
    public var droppedTags: (@Sendable (Entry) -> [String])?
    /// Whether eviction spares the entry; `nil`: as the entry that is replaced, else not.
    public var pinned: Bool?
    /// For how long after its expiry the entry may be served stale: one with an allowance stays until room is needed.
    public var staleAllowance: Duration = .zero
    /// Selected response fields, as JSON text of the caller's own making.
    public var fields: String?

    /// Metadata with that ttl and nothing else stated.
    public init(ttl: Duration) {
        self.ttl = ttl
    }
}

/// What a revalidation changes of an entry whose body stays (RFC 9111 §4.3.4). What is `nil` stays as it is.
public struct EntryRefresh: Sendable {
    /// For how long the entry stays fresh, from now.
    public var ttl: Duration
    /// When it stops being fresh, at most `ttl` from now; `nil`: then.
    public var expiryDate: Timestamp?
    /// The entity tag of the 304.
    public var etag: String?
    /// The `Last-Modified` of the 304.
    public var lastModified: String?
    /// The media type of the 304.
    public var contentType: String?
    /// When the request was sent.
    public var downloadStartDate: Timestamp?
    /// When the answer was complete.
    public var downloadEndDate: Timestamp?
    /// The tags that replace the entry's; `nil`: it keeps its own, but for those that were held for longest when they
    /// would be too many. Tags of the reservation are added.
    public var tags: [String]?
    /// Asked with the entry: which of its tags it loses; `nil`: none. For when `tags` says nothing. It must not wait.
    public var droppedTags: (@Sendable (Entry) -> [String])?
    /// Whether eviction spares the entry.
    public var pinned: Bool?
    /// For how long after its expiry the entry may be served stale.
    public var staleAllowance: Duration?
    /// Selected response fields, as JSON text of the caller's own making.
    public var fields: String?

    /// A refresh that makes the entry fresh for `ttl` from now and changes nothing else.
    public init(ttl: Duration) {
        self.ttl = ttl
    }
}

/// How a publish ended.
public enum PublishOutcome: Sendable {
    /// The entry is kept, durably.
    case stored(Entry)
    /// A purge matched while the body was being received, or it was one more response to a URL of which
    /// ``Entry/variantLimit`` are kept and pinned, or so many that their fields leave no room for its own
    /// (``Entry/variantFieldsLimit``): the entry is not kept, and nobody else will ever see it, but those who waited
    /// for it can have it.
    case notKept(Entry, body: StoredBody?)

    /// The entry, kept or not.
    public var entry: Entry {
        switch self {
        case .stored(let entry), .notKept(let entry, _): entry
        }
    }
}
