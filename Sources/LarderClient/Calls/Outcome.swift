/// The outcome of a request for a download, in the API's own words.
package enum Outcome: String, Hashable, Sendable, CaseIterable {
    /// The body was fetched from the origin.
    case downloaded
    /// The origin confirmed that the held entry is still valid.
    case revalidated
    /// The request joined a download that was running already.
    case joined
    /// The answer is an expired entry from the cache.
    case stale
    /// The answer is a fresh entry from the cache; the origin was not contacted.
    case cached
}
