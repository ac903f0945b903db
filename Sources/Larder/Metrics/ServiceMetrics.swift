import DiskCache

/// What the service counts about itself, from its start on.
public final class ServiceMetrics: Sendable {
    /// Requests that were answered from the cache: downloads, contents and JSON.
    public let hits = Counter()
    /// Requests that the cache could not answer.
    public let misses = Counter()
    /// Requests that joined a running download.
    public let joins = Counter()
    /// Requests that were answered with an entry past its expiry, as they allowed.
    public let staleAnswers = Counter()
    /// Downloads that fetched a body.
    public let downloaded = Counter()
    /// Downloads that ended with the origin's "not modified".
    public let revalidated = Counter()
    /// Downloads that failed.
    public let failed = Counter()
    /// Downloads that somebody cancelled.
    public let cancelled = Counter()
    /// Bytes received from origins, after decoding.
    public let receivedBytes = Counter()
    /// How long downloads took.
    public let downloadDurations = DurationHistogram()

    /// Entries that left, in all namespaces.
    public let removals = RemovalCounters()

    /// Metrics at zero.
    public init() {}
}
