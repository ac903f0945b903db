import Primitives
import Synchronization

/// A number that only grows, counted by many threads without a lock.
public final class Counter: Sendable {
    private let atomic = Atomic<Int>(0)

    /// A counter at 0.
    public init() {}

    /// Adds one, or `amount`.
    public func increment(by amount: Int = 1) {
        atomic.wrappingAdd(amount, ordering: .relaxed)
    }

    /// The count so far.
    public var value: Int { atomic.load(ordering: .relaxed) }
}

/// How many durations fell under each of a few bounds, and their sum: a Prometheus histogram.
public final class DurationHistogram: Sendable {
    /// The upper bounds in seconds, ascending; a last one without bound is implied.
    public static let bounds = [
        0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
    ]

    private let buckets: [Counter]
    private let microseconds = Counter()

    /// A histogram that has seen nothing.
    public init() {
        buckets = (0...Self.bounds.count).map { _ in Counter() }
    }

    /// Counts one duration.
    public func record(_ duration: Duration) {
        let seconds = duration.inSeconds
        buckets[Self.bounds.firstIndex { seconds <= $0 } ?? Self.bounds.count].increment()
        microseconds.increment(by: Int(seconds * 1e6))
    }

    /// For each bound, and last for none, how many durations were not longer; the sum of all in seconds.
    ///
    /// - Parameter instants: how many there were beside those recorded that took no time worth measuring.
    public func snapshot(withInstants instants: Int = 0) -> (cumulative: [Int], sum: Double) {
        var total = instants
        let cumulative = buckets.map { bucket in
            total += bucket.value
            return total
        }
        return (cumulative, Double(microseconds.value) / 1e6)
    }
}
