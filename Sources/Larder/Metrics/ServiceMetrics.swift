import DiskCache
import Logging
import Primitives
import Synchronization

/// The counters of the service since its start.
package final class ServiceMetrics: Sendable {
    /// Hits of downloads, contents, JSON and `/fetch`. ``NamespaceTable/hitsAtHand`` counts hits of ready answers.
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
    /// Downloads and gateway fetches that failed, and gateway fetches that were cancelled.
    package let failed = Counter()
    /// Downloads that were cancelled.
    package let cancelled = Counter()
    /// Downloads that ended without a request to the origin, because the host had asked for a pause.
    package let paused = Counter()
    /// Bytes from origins, after decoding.
    package let receivedBytes = Counter()
    package let downloadDurations = DurationHistogram()
    package let removals = RemovalCounters()
    package let pages = PageCounters()
}

/// The counters of captures of pages, and of their replays.
package final class PageCounters: Sendable {
    /// The end of a capture.
    package enum Outcome: String, CaseIterable, Sendable {
        case complete, partial
        /// The capture was worse than the page's stored one, so that the page does not have it.
        case unkept
        case failed, cancelled
    }

    /// The result of a request for a resource.
    package enum ResourceOutcome: String, CaseIterable, Sendable { case captured, missing }

    private let ended = Outcome.allCases.map { _ in Counter() }
    private let found = ResourceOutcome.allCases.map { _ in Counter() }
    /// Pages that were opened for a replay.
    package let views = Counter()

    package func captures(_ outcome: Outcome) -> Counter { ended[Outcome.allCases.firstIndex(of: outcome)!] }
    package func resources(_ outcome: ResourceOutcome) -> Counter {
        found[ResourceOutcome.allCases.firstIndex(of: outcome)!]
    }
}

/// A number that only grows. Many threads may count without a lock.
package final class Counter: Sendable {
    private let atomic = Atomic<Int>(0)

    package init() {}

    package func increment(by amount: Int = 1) {
        atomic.wrappingAdd(amount, ordering: .relaxed)
    }

    package var value: Int { atomic.load(ordering: .relaxed) }
}

/// A Prometheus histogram of durations: a count for each upper bound, and the sum.
package final class DurationHistogram: Sendable {
    /// The upper bounds in seconds, ascending. A last bucket without a bound is implied.
    package static let bounds = [
        0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
    ]

    private let buckets: [Counter]
    private let microseconds = Counter()

    package init() {
        buckets = (0...Self.bounds.count).map { _ in Counter() }
    }

    package func record(_ duration: Duration) {
        let seconds = duration.inSeconds
        buckets[Self.bounds.firstIndex { seconds <= $0 } ?? Self.bounds.count].increment()
        microseconds.increment(by: Int(seconds * 1e6))
    }

    /// Returns the cumulative counts, for each bound and finally for all durations, and the sum in seconds. `instants`
    /// further events took too short a time to measure: they count in every bucket and leave the sum unchanged.
    package func snapshot(withInstants instants: Int = 0) -> (cumulative: [Int], sum: Double) {
        var total = instants
        let cumulative = buckets.map { bucket in
            total += bucket.value
            return total
        }
        return (cumulative, Double(microseconds.value) / 1e6)
    }
}

extension Logger.MetadataValue {
    /// Stays a number in a JSON line of the log. Interpolated text, `"\(count)"`, becomes a JSON string there.
    package static func number(_ value: some BinaryInteger & Sendable) -> Self { .stringConvertible(value) }

    /// Rounded to microseconds, the precision of the clock, to avoid digits such as 0.0011692290000000001.
    package static func seconds(_ duration: Duration) -> Self {
        .stringConvertible((duration.inSeconds * 1e6).rounded() / 1e6)
    }
}
