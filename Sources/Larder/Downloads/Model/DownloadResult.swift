import DiskCache

/// The way in which a request for a download was answered.
package enum DownloadOutcome: String, Sendable, CaseIterable {
    /// From the cache with a fresh entry, without asking the origin.
    case cached
    /// Fetched from the origin.
    case downloaded
    /// The origin confirmed the held entry (304).
    case revalidated
    /// By a download that was already running for another caller.
    case joined
    /// From the cache with a stale entry, as the request allowed.
    case stale
}

/// The answer to a request for a download.
package struct DownloadResult: Sendable {
    /// The way in which the request was answered.
    package var outcome: DownloadOutcome
    /// The entry's metadata.
    package var entry: Entry
    /// Whether the request changed the cache: a body, a new expiry from the origin, tags or a pin. A slide does not
    /// count.
    package var isChange = false
}

/// The reason why a download failed.
package enum DownloadError: Error, Hashable, Sendable {
    /// The scheme of the URL, or of a redirect, is not allowed.
    case schemeRefused(String)
    /// The origin's address is not allowed. The text names the rule.
    case addressRefused(String)
    /// The origin's final answer has a status outside 2xx. `retryAfter`: the seconds in the `Retry-After` of a 429 or
    /// 503; `nil` without it.
    case originStatus(Int, retryAfter: Int64?)
    /// The answer is for the client of its connection (NTLM, Negotiate), and not for every caller.
    case connectionAuthentication
    /// The transfer broke off, or its answer cannot be used. Carries libcurl's code (0 without a code) and words.
    case transferFailed(code: Int32, words: String)
    /// The body is longer than an entry may be. Carries libcurl's code and the limit in bytes.
    case tooLarge(code: Int32, limit: Int64)
    /// The origin took too long. Carries libcurl's code and words.
    case timedOut(code: Int32, words: String)
    /// A caller cancelled the download.
    case cancelled
    /// There is no room on the disk, or below the limit.
    case noSpace
    /// The cache could not store the body, for the given reason.
    case storage(String)
    /// The entry would have more tags than an entry may have.
    case tooManyTags(limit: Int)
    /// Too many downloads run or wait already.
    case busy
    /// Another resource with the same key is being downloaded: a collision of MD5.
    case keyInUse
    /// The server is stopping.
    case stopping
}
