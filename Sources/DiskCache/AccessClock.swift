import Primitives
import Synchronization

/// When entries are handed out, for the order of eviction: the wall clock, but never earlier than it has been. After the
/// wall clock was set back, what is new or in use would otherwise look older than all that was there before, and go
/// first. Until the wall clock has caught up, accesses share one instant, and of those the oldest entry goes first.
final class AccessClock: Sendable {
    private let clock: any WallClock
    /// The latest instant that was given out, in milliseconds.
    private let latest: Atomic<Int64>

    /// - Parameter start: the latest access that is known.
    init(_ clock: any WallClock, notBefore start: Timestamp) {
        self.clock = clock
        latest = Atomic(start.milliseconds)
    }

    /// The instant for an access that happens now.
    func now() -> Timestamp {
        let now = clock.now().milliseconds
        let latest = latest.load(ordering: .relaxed)
        // Most of the time some other access has the same millisecond: then nobody writes.
        if now <= latest { return Timestamp(milliseconds: latest) }
        return Timestamp(milliseconds: self.latest.max(now, ordering: .relaxed).newValue)
    }
}
