import Primitives

/// How many bytes may be on disk, how many are, and how many are promised to bodies that are being received.
///
/// Invariant: nothing is promised that would make `used + reserved` exceed the limit. (It may exceed it for the instant
/// between a commit and the release of the promise that it fulfils, and when the limit has become smaller.) `used` is
/// set by the writer after each commit; `reserved` belongs to the reservations.
///
/// A body of unknown length may turn out never to fit. It gets free room as long as the head-room stays free. Beyond
/// that it gets a part of the *share*, a fifth of the limit, that all bodies of unknown length have together: as much
/// as it leaves to the others. One such body therefore gets a tenth of the limit, of two at once each a fifteenth, and
/// a small body finds room beside many large ones.
///
/// Beside the limit there is the room that the file system has. It is measured for each promise, because others take of
/// it too; where there is plenty, after each commit and ten times a second. And what is promised is taken from what was
/// measured after the last commit, because it may not be written yet.
final class ByteBudget: Sendable {
    private struct State {
        var limit: Int64
        var used: Int64 = 0
        var reserved: Int64 = 0
        /// The part of `reserved` that is out of the share.
        var shared: Int64 = 0
        var pinned: Int64 = 0
        /// What the file system had left above the reserve after the last commit, without what was promised since.
        var room = FreeSpace.unlimited
        /// How many bytes on disk were free then to be used again.
        var reusable: Int64 = 0
        /// What the file system had left when it was last asked, and when that was.
        var measured: (room: Int64, instant: ContinuousClock.Instant)?

        /// What of `measured`, the room of this moment, is not promised. Others may have made room since the last
        /// commit: then all promises are taken from the room of now, as if nothing of them were written yet.
        func unpromised(of measured: Int64) -> Int64 {
            min(measured, max(room, measured - reserved))
        }

        /// See ``Eviction/headRoom(ofLimit:pinned:)``.
        var headRoom: Int64 { Eviction.headRoom(ofLimit: limit, pinned: pinned) }

        /// Whether the share has `bytes` more for a body that has `own` bytes of it.
        func hasShare(for bytes: Int64, beside own: Int64, measured: Int64) -> Bool {
            // Where the file system allows less than the limit, the share is a part of that.
            let capacity = min(limit, used + reserved + max(0, unpromised(of: measured)))
            return own + bytes <= max(0, capacity - pinned) / ByteBudget.sharePart - (shared + bytes)
        }

        /// Promises `bytes` when they fit with `margin` to spare.
        mutating func promise(_ bytes: Int64, margin: Int64, measured: Int64) -> Bool {
            let unpromised = unpromised(of: measured)
            guard used + reserved + bytes + margin <= limit, bytes + min(margin, Eviction.leastRoom) <= unpromised
            else { return false }
            reserved += bytes
            room = max(room, unpromised) - bytes
            return true
        }
    }

    /// The share of bodies of unknown length: one of so many parts of the limit.
    private static let sharePart: Int64 = 5

    private let freeSpace: FreeSpace
    private let state: Locked<State>

    init(limit: Int64, freeSpace: FreeSpace) {
        self.freeSpace = freeSpace
        state = Locked(State(limit: limit))
    }

    /// The most bytes.
    var limit: Int64 { state.withLock { $0.limit } }

    /// Changes ``limit``. What is used or promised already may be more: it is nobody's loss at once.
    func setLimit(_ bytes: Int64) {
        state.withLock { $0.limit = bytes }
    }

    /// What committed entries take.
    var used: Int64 { state.withLock { $0.used } }

    /// What is promised to bodies in flight.
    var reserved: Int64 { state.withLock { $0.reserved } }

    /// What committed entries take, with what is promised to bodies in flight; and those of them that are pinned.
    var taken: (all: Int64, pinned: Int64) { state.withLock { ($0.used + $0.reserved, $0.pinned) } }

    /// Room that is promised to a body.
    struct Promise: Sendable {
        var bytes: Int64 = 0
        /// The part of `bytes` that is out of the share of bodies of unknown length.
        var shared: Int64 = 0
    }

    /// Promises `bytes` more to a body whose length is known; `nil` without room.
    func reserve(_ bytes: Int64) -> Promise? {
        let room = room
        return state.withLock { state in
            state.promise(bytes, margin: 0, measured: room) ? Promise(bytes: bytes) : nil
        }
    }

    /// Promises `bytes` more to a body of unknown length; `nil` without room.
    ///
    /// - Parameter own: what the body was promised before.
    func reserve(ofUnknownLength bytes: Int64, beside own: Promise) -> Promise? {
        let room = room
        return state.withLock { state in
            if state.promise(bytes, margin: state.headRoom, measured: room) { return Promise(bytes: bytes) }
            guard state.hasShare(for: bytes, beside: own.shared, measured: room),
                state.promise(bytes, margin: 0, measured: room)
            else { return nil }
            state.shared += bytes
            return Promise(bytes: bytes, shared: bytes)
        }
    }

    /// Whether a body of unknown length may have `bytes` more out of the share.
    ///
    /// - Parameter own: what the body was promised before.
    func hasShare(for bytes: Int64, beside own: Promise) -> Bool {
        let room = room
        return state.withLock { $0.hasShare(for: bytes, beside: own.shared, measured: room) }
    }

    /// What eviction ahead of need goes by. The share takes of the head-room: entries go for that only when its body is
    /// stored.
    var fullness: Eviction.Fullness {
        state.withLock { state in
            Eviction.Fullness(
                excess: state.used + state.reserved - state.shared - state.limit, headRoom: state.headRoom,
                room: state.room, used: (state.used, state.pinned))
        }
    }

    /// Whether `bytes` more would fit if everything went that may go: all but what is pinned or promised.
    ///
    /// - Parameter asPinned: whether they, too, will not go; otherwise they have to fit beside ``headRoom``, for which
    ///   they would go at once.
    func couldHold(_ bytes: Int64, asPinned: Bool) -> Bool {
        let room = room
        return state.withLock { state in
            let headRoom = asPinned ? 0 : state.headRoom
            return state.reserved + state.pinned + bytes + headRoom <= state.limit
                && bytes <= state.unpromised(of: room) + state.used - state.pinned
        }
    }

    /// Takes a promise back.
    func release(_ promise: Promise) {
        guard promise.bytes > 0 else { return }
        state.withLock { state in
            state.reserved -= promise.bytes
            state.shared -= promise.shared
        }
    }

    /// Says what committed entries take now, and those of them that are pinned, and how many bytes of free pages and
    /// slots are on disk. What was promised to them is still counted too, until it is released.
    func commit(used: Int64, pinned: Int64, reusable: Int64) {
        let room = freeSpace.room(reusable: reusable)
        let now = ContinuousClock.now
        state.withLock {
            ($0.used, $0.pinned, $0.room, $0.reusable, $0.measured) = (used, pinned, room, reusable, (room, now))
        }
    }

    /// With more room than this it is not measured for each promise: nobody can fill it between two measurements.
    private static let plentyOfRoom: Int64 = 2 << 30
    private static let measuringInterval = Duration.milliseconds(100)

    /// What the file system has left above the reserve, now.
    var room: Int64 {
        let (measured, reusable) = state.withLock { ($0.measured, $0.reusable) }
        let now = ContinuousClock.now
        if let measured, measured.room > Self.plentyOfRoom, now - measured.instant < Self.measuringInterval {
            return measured.room
        }
        let room = freeSpace.room(reusable: reusable)
        state.withLock { $0.measured = (room, now) }
        return room
    }

    /// What it had left after the last commit, without what was promised since.
    var roomAtCommit: Int64 { state.withLock { $0.room } }
}
