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
    }

    private let clock: any WallClock
    private let state: Locked<State>

    /// - Parameter start: the latest access that is known.
    init(_ clock: any WallClock, notBefore start: Timestamp) {
        self.clock = clock
        state = Locked(State(latest: start, wall: clock.now()))
    }

    /// The instant for an access that happens now.
    func now() -> Timestamp {
        state.withLock { state in
            // Under the lock: another thread's earlier reading would look like a clock that was set back.
            let wall = clock.now()
            if wall > state.latest {
                state.latest = wall
            } else if wall != state.wall, wall < state.latest {
                state.latest = state.latest + .milliseconds(1)
            }
            state.wall = wall
            return state.latest
        }
    }
}
