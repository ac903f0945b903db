import DiskCache

/// How a request for a download was answered.
public enum DownloadOutcome: String, Sendable, CaseIterable {
    /// From the cache, fresh; the origin was not asked.
    case cached
    /// Fetched from the origin.
    case downloaded
    /// The origin said that what is kept is still right (304).
    case revalidated
    /// By a download that was already running for somebody else.
    case joined
    /// From the cache, although no longer fresh, as the request allowed.
    case stale
}

/// The answer to a request for a download.
public struct DownloadResult: Sendable {
    /// How it came about.
    public var outcome: DownloadOutcome
    /// The entry's metadata.
    public var entry: Entry
    /// Whether the request has changed what is held: a body, a new expiry from the origin, tags, a pin. A slide is no
    /// change.
    public var isChange = false
}

/// Why a download failed.
public enum DownloadError: Error, Hashable, Sendable {
    /// The URL's scheme, or that of a redirect, is not among those allowed.
    case schemeRefused(String)
    /// The origin's address is not among those allowed; in words that name the rule.
    case addressRefused(String)
    /// The origin's final answer has a status outside 2xx. With 429 and 503, the seconds of its `Retry-After`; `nil`
    /// without one.
    case originStatus(Int, retryAfter: Int64?)
    /// The answer is for the client of its connection (NTLM, Negotiate), and not for every caller.
    case connectionAuthentication
    /// The transfer broke, or its answer cannot be used: libcurl's code (0 when it has none) and words.
    case transferFailed(code: Int32, words: String)
    /// The body is longer than an entry may be: libcurl's code, the limit in bytes.
    case tooLarge(code: Int32, limit: Int64)
    /// The origin took too long: libcurl's code and words.
    case timedOut(code: Int32, words: String)
    /// Somebody cancelled it.
    case cancelled
    /// There is no room on the disk, or under the limit.
    case noSpace
    /// The cache could not keep it: the reason.
    case storage(String)
    /// The entry would have more tags than one may have.
    case tooManyTags(limit: Int)
    /// Too many downloads run or wait already.
    case busy
    /// Something else whose key is the same, by a collision of MD5, is being downloaded.
    case keyInUse
    /// The server is stopping.
    case stopping
}
