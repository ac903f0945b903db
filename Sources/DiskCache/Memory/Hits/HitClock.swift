import Primitives

/// The clock for the times of hits, which decide the order of eviction: the wall clock, but it never goes back.
/// Otherwise, after the wall clock was set back, new and recently used entries would look older than all earlier
/// entries and be evicted first. While the wall clock is behind, this clock advances by a millisecond whenever the wall
/// clock has moved, so hits keep their order. A millisecond for each hit would outrun the wall clock on a busy server.
final class HitClock: Sendable {
    private struct State {
        var latest: Timestamp
        /// The wall clock's time when `latest` was returned.
        var wall: Timestamp

        mutating func advance(to clock: any WallClock) -> Timestamp {
            // Read under the lock, because another thread's earlier reading would look like a clock that was set back.
            let now = clock.now()
            if now > latest {
                latest = now
            } else if now != wall, now < latest {
                latest = latest + .milliseconds(1)
            }
            wall = now
            return latest
        }
    }

    private let clock: any WallClock
    private let state: Locked<State>

    init(_ clock: any WallClock, notBefore start: Timestamp) {
        self.clock = clock
        state = Locked(State(latest: start, wall: clock.now()))
    }

    func now() -> Timestamp { state.withLock { $0.advance(to: clock) } }

    /// Converts a recent instant of the wall clock: `noted`, or the current instant while that clock is behind.
    func instant(ofHitAt noted: Timestamp) -> Timestamp {
        state.withLock { state in
            // ``HotEntry`` notes hits by the wall clock without advancing this clock.
            if noted > state.latest { (state.latest, state.wall) = (noted, noted) }
            return clock.now() < state.latest ? state.advance(to: clock) : noted
        }
    }
}
