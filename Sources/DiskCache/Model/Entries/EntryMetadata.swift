import Primitives

/// The metadata that a publish gives to the received body.
package struct EntryMetadata: Sendable {
    package var status = 200
    package var contentType: String?
    package var etag: String?
    package var lastModified: String?
    /// The parameters that were given beside the URL, as JSON text.
    package var params: String?
    /// The time at which the download began; `nil` for an entry that a caller stored.
    package var downloadStartDate: Timestamp?
    /// The time at which the download ended; `nil` for an entry that a caller stored.
    package var downloadEndDate: Timestamp?
    /// The time for which the entry stays fresh. With zero or less the entry is stale at once.
    package var ttl: Duration
    /// The time at which the entry stops being fresh, at most `ttl` after the publish; `nil`: `ttl` after the publish.
    package var expiryDate: Timestamp?
    /// The tags; `nil`: the tags of the replaced entry. If these are too many, the tags that the entry has held longest
    /// are dropped. The reservation's tags are added in both cases.
    package var tags: [String]?
    /// Returns the tags of the replaced entry that the new entry does not take over; `nil`: it takes over all tags.
    /// Called only when `tags` is `nil`. Must not wait.
    package var droppedTags: (@Sendable (Entry) -> [String])?
    /// Whether eviction spares the entry; `nil`: like the replaced entry, or `false` without a replaced entry.
    package var pinned: Bool?
    /// The time after its expiry for which the entry may be served stale. An entry with an allowance stays until room
    /// is needed.
    package var staleAllowance: Duration = .zero
    /// Selected response fields, as JSON text in a format of the caller.
    package var fields: String?

    package init(ttl: Duration) {
        self.ttl = ttl
    }
}

/// The changes that a revalidation makes to an entry; the body stays (RFC 9111 §4.3.4). A property that is `nil` leaves
/// the entry's value as it is.
package struct EntryRefresh: Sendable {
    /// The time from now for which the entry stays fresh.
    package var ttl: Duration
    /// The time at which the entry stops being fresh, at most `ttl` from now; `nil`: `ttl` from now.
    package var expiryDate: Timestamp?
    package var etag: String?
    package var lastModified: String?
    package var contentType: String?
    /// The time at which the request was sent.
    package var downloadStartDate: Timestamp?
    /// The time at which the answer was complete.
    package var downloadEndDate: Timestamp?
    /// The tags that replace the entry's tags; `nil`: the entry keeps its own. If these are too many, the tags that the
    /// entry has held longest are dropped. The reservation's tags are added in both cases.
    package var tags: [String]?
    /// Returns the tags that the entry loses; `nil`: it loses none. Called only when `tags` is `nil`. Must not wait.
    package var droppedTags: (@Sendable (Entry) -> [String])?
    /// Whether eviction spares the entry.
    package var pinned: Bool?
    /// The time after its expiry for which the entry may be served stale.
    package var staleAllowance: Duration?
    /// Selected response fields, as JSON text in a format of the caller.
    package var fields: String?

    /// A refresh that makes the entry fresh for `ttl` from now and changes no other property.
    package init(ttl: Duration) {
        self.ttl = ttl
    }
}
