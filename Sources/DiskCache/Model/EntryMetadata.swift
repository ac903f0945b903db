import Primitives

/// The metadata that a publish gives to the received body.
package struct EntryMetadata: Sendable {
    package var status = 200
    package var contentType: String?
    package var etag: String?
    package var lastModified: String?
    /// JSON text, given beside the URL. 3: `nil` for an entry that a caller stored, as is the end.
    package var params: String?
    /// The time at which the download began; `nil` for an entry that a caller stored.
    package var downloadStartDate: Timestamp?
    package var downloadEndDate: Timestamp?
    /// Zero or less makes the entry stale at once.
    package var ttl: Duration
    /// Lies at most `ttl` after the publish; `nil`: `ttl` after the publish.
    package var expiryDate: Timestamp?
    /// `nil`: the tags of the replaced entry. If these are too many, the tags held for longest are dropped. The
    /// reservation's tags are added in both cases.
    package var tags: [String]?
    /// The tags of the replaced entry that the new entry does not take over; `nil`: it takes over all. Called only when
    /// `tags` is `nil`. Must not wait.
    package var droppedTags: (@Sendable (Entry) -> [String])?
    /// `nil`: like the replaced entry, or `false` without a replaced entry.
    package var pinned: Bool?
    /// The time after the expiry for which the entry may be served stale. Such an entry stays until room is needed.
    package var staleAllowance: Duration = .zero
    /// Selected response fields, as JSON text in a format of the caller.
    package var fields: String?

    package init(ttl: Duration) {
        self.ttl = ttl
    }
}

/// The changes that a revalidation makes to an entry; the body stays (RFC 9111 §4.3.4). `nil` leaves the entry's value
/// as it is. Properties that ``EntryMetadata`` has too mean the same here.
package struct EntryRefresh: Sendable {
    /// Counts from now.
    package var ttl: Duration
    /// Lies at most `ttl` from now; `nil`: `ttl` from now.
    package var expiryDate: Timestamp?
    package var etag: String?
    package var lastModified: String?
    package var contentType: String?
    /// The time at which the request was sent.
    package var downloadStartDate: Timestamp?
    /// The time at which the answer was complete.
    package var downloadEndDate: Timestamp?
    package var tags: [String]?
    package var droppedTags: (@Sendable (Entry) -> [String])?
    package var pinned: Bool?
    package var staleAllowance: Duration?
    package var fields: String?

    package init(ttl: Duration) {
        self.ttl = ttl
    }
}
