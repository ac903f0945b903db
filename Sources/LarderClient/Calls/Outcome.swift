/// How a request for a download was answered, in the API's own words.
public enum Outcome: String, Hashable, Sendable, CaseIterable {
    /// Fetched from the origin.
    case downloaded
    /// The origin said that what is held is still right.
    case revalidated
    /// By a download that ran already.
    case joined
    /// From the cache, expired.
    case stale
    /// From the cache, fresh: the origin was not asked.
    case cached
}
