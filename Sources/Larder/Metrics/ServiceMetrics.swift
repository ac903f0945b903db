import DiskCache

/// The counters of the service since its start.
package final class ServiceMetrics: Sendable {
    /// Requests that were answered from the cache: downloads, contents, JSON and the gateway. The caches count the hits
    /// that are answered at hand, and this counter does not.
    package let hits = Counter()
    package let misses = Counter()
    /// Requests that joined a running download or gateway fetch.
    package let joins = Counter()
    /// Download requests that were answered with an entry past its expiry, as the request permitted.
    package let staleAnswers = Counter()
    /// Downloads and gateway fetches that received a complete answer.
    package let downloaded = Counter()
    /// Downloads and gateway fetches that ended with the origin's "not modified".
    package let revalidated = Counter()
    /// Downloads and gateway fetches.
    package let failed = Counter()
    /// Downloads.
    package let cancelled = Counter()
    /// Bytes from origins, after decoding.
    package let receivedBytes = Counter()
    package let downloadDurations = DurationHistogram()
    package let removals = RemovalCounters()

    package init() {}
}
