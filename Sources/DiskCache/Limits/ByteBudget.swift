import Primitives

/// How many bytes may be on disk, how many are, and how many are promised to bodies that are being received.
///
/// Invariant: nothing is promised that would make `used + reserved` exceed the limit. (It may exceed it for the instant
/// between a commit and the release of the promise that it fulfils, and when a cache is opened with a smaller limit
/// than before.) `used` is set by the writer after each commit; `reserved` belongs to the reservations.
final class ByteBudget: Sendable {
    private struct State {
        var used: Int64 = 0
        var reserved: Int64 = 0
        var pinned: Int64 = 0
    }

    /// The most bytes.
    let limit: Int64
    private let state = Locked(State())

    init(limit: Int64) {
        self.limit = limit
    }

    /// How many bytes more than allowed there would be if `bytes` more were needed; 0 or less: there is room.
    func excess(with bytes: Int64 = 0) -> Int64 {
        state.withLock { $0.used + $0.reserved + bytes - limit }
    }

    /// What committed entries take.
    var used: Int64 { state.withLock { $0.used } }

    /// What is promised to bodies in flight.
    var reserved: Int64 { state.withLock { $0.reserved } }

    /// Promises `bytes` more, if there is room; whether there was.
    func reserve(_ bytes: Int64) -> Bool {
        state.withLock { state in
            guard state.used + state.reserved + bytes <= limit else { return false }
            state.reserved += bytes
            return true
        }
    }

    /// Whether `bytes` more would fit if everything went that may go: all but what is pinned or promised.
    func couldHold(_ bytes: Int64) -> Bool {
        state.withLock { $0.reserved + $0.pinned + bytes <= limit }
    }

    /// Takes a promise back.
    func release(_ bytes: Int64) {
        state.withLock { $0.reserved -= bytes }
    }

    /// Says what committed entries take now, and those of them that are pinned. What was promised to them is still
    /// counted too, until it is released.
    func commit(used: Int64, pinned: Int64) {
        state.withLock { ($0.used, $0.pinned) = (used, pinned) }
    }
}
