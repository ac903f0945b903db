/// In the API's own words.
package enum Outcome: String, Hashable, Sendable, CaseIterable {
    case downloaded
    /// The origin confirmed that the held entry is still valid.
    case revalidated
    case joined
    /// The answer is an expired entry from the cache.
    case stale
    /// The answer is a fresh entry from the cache; the origin was not contacted.
    case cached
}
