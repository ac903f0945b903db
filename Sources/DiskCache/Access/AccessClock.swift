import Primitives

/// When entries are handed out, for the order of eviction: the wall clock, but never earlier than it has been. After
/// the wall clock was set back, what is new or in use would otherwise look older than all that was there before, and go
/// first.
///
/// Until the wall clock has caught up, a millisecond passes here whenever the wall clock has moved: so accesses keep
/// the order in which they come. One for each access would do that too, but outrun the wall clock on a busy server,
/// perhaps for ever.
final class AccessClock: Sendable {
    private struct State {
        /// The latest instant that was given out.
        var latest: Timestamp
        /// What the wall clock showed then.
        var wall: Timestamp

        /// The instant of now, which is given out.
        mutating func advance(to clock: any WallClock) -> Timestamp {
            // Under the lock: another thread's earlier reading would look like a clock that was set back.
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

    /// - Parameter start: the latest access that is known.
    init(_ clock: any WallClock, notBefore start: Timestamp) {
        self.clock = clock
        state = Locked(State(latest: start, wall: clock.now()))
    }

    /// The instant for an access that happens now.
    func now() -> Timestamp { state.withLock { $0.advance(to: clock) } }

    /// The instant for an access that was noted by the wall clock, not long ago: while that is behind, now.
    func instant(ofAccessAt noted: Timestamp) -> Timestamp {
        state.withLock { state in
            // It may be the latest of all: those who note accesses by the wall clock do not say so here.
            if noted > state.latest { (state.latest, state.wall) = (noted, noted) }
            return clock.now() < state.latest ? state.advance(to: clock) : noted
        }
    }
}
