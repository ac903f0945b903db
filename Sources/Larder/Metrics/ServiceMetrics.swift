import DiskCache

/// The counters of the service since its start.
public final class ServiceMetrics: Sendable {
    /// Requests that were answered from the cache: downloads, contents, JSON and the gateway. The caches count the hits
    /// that are answered at hand, and this counter does not.
    public let hits = Counter()
    /// Requests that the cache could not answer.
    public let misses = Counter()
    /// Requests that joined a running download or gateway fetch.
    public let joins = Counter()
    /// Download requests that were answered with an entry past its expiry, as the request permitted.
    public let staleAnswers = Counter()
    /// Downloads and gateway fetches that received a complete answer.
    public let downloaded = Counter()
    /// Downloads and gateway fetches that ended with the origin's "not modified".
    public let revalidated = Counter()
    /// Downloads and gateway fetches that failed.
    public let failed = Counter()
    /// Downloads that were cancelled.
    public let cancelled = Counter()
    /// Bytes received from origins, after decoding.
    public let receivedBytes = Counter()
    /// The durations of downloads.
    public let downloadDurations = DurationHistogram()

    /// The removed entries of all namespaces.
    public let removals = RemovalCounters()

    /// Creates metrics at zero.
    public init() {}
}
