import Primitives

/// The disk budget: the byte limit, the bytes of committed entries, and the bytes promised to bodies being received.
///
/// Invariant: no promise raises `used + reserved` above the limit. The sum can be above the limit after the limit was
/// lowered, and between a commit and the release of its promise. The writer sets `used`, and reservations `reserved`.
///
/// A body of unknown length, which may never fit, gets free room as long as the head-room stays free, and then a part
/// of the *share*, a fifth of the limit for all such bodies. Its part is at most as large as the free rest of the
/// share. So one body gets a tenth of the limit, two a fifteenth each, and a small body finds room beside large ones.
///
/// The free room of the file system is measured for each promise, because other programs use it, too. With plenty of
/// room, it is measured only after each commit and ten times a second. Promises since the last commit are subtracted.
package final class ByteBudget: Sendable {
    private struct State {
        var limit: Int64
        var used: Int64 = 0
        var reserved: Int64 = 0
        var shared: Int64 = 0
        var pinned: Int64 = 0
        /// The free bytes above the reserve at the last commit, minus the promises since then.
        var room = FreeSpace.unlimited
        /// The free bytes in index pages and slots at the last commit.
        var reusable: Int64 = 0
        var measured: (room: Int64, instant: ContinuousClock.Instant)?

        /// The part of the room at present that is not promised. If other programs have freed space since the last
        /// commit, subtracts all promises, as if none of the promised bytes were written yet.
        func unpromised(of measured: Int64) -> Int64 { min(measured, max(room, measured - reserved)) }

        var headRoom: Int64 { DiskFullness.headRoom(ofLimit: limit, pinned: pinned) }

        func hasShare(for bytes: Int64, beside own: Int64, measured: Int64) -> Bool {
            // If the file system allows less than the limit, the share is a part of that smaller capacity.
            let capacity = min(limit, used + reserved + max(0, unpromised(of: measured)))
            return own + bytes <= max(0, capacity - pinned) / ByteBudget.sharePart - (shared + bytes)
        }

        mutating func promise(_ bytes: Int64, margin: Int64, measured: Int64) -> Bool {
            let unpromised = unpromised(of: measured)
            guard used + reserved + bytes + margin <= limit, bytes + min(margin, DiskFullness.leastRoom) <= unpromised
            else { return false }
            reserved += bytes
            room = max(room, unpromised) - bytes
            return true
        }
    }

    /// The share of bodies of unknown length is the limit divided by this number.
    private static let sharePart: Int64 = 5
    private let freeSpace: FreeSpace
    private let state: Locked<State>

    init(limit: Int64, freeSpace: FreeSpace) {
        self.freeSpace = freeSpace
        state = Locked(State(limit: limit))
    }

    package var limit: Int64 { state.withLock { $0.limit } }
    var used: Int64 { state.withLock { $0.used } }
    var reserved: Int64 { state.withLock { $0.reserved } }

    /// Evicts no entry and takes back no promise, even if more than `bytes` are taken.
    func setLimit(_ bytes: Int64) { state.withLock { $0.limit = bytes } }

    /// `all` includes promises; `pinned` are committed entries.
    var taken: (all: Int64, pinned: Int64) { state.withLock { ($0.used + $0.reserved, $0.pinned) } }

    /// The bytes that are reserved for a body; `shared` is the part that belongs to the share.
    struct Promise: Sendable {
        var bytes: Int64 = 0
        var shared: Int64 = 0
    }

    func reserve(_ bytes: Int64) -> Promise? {
        let room = room
        return state.withLock { $0.promise(bytes, margin: 0, measured: room) ? Promise(bytes: bytes) : nil }
    }

    /// `own` are the earlier promises of the same body. Returns `nil` without room.
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

    func hasShare(for bytes: Int64, beside own: Promise) -> Bool {
        let room = room
        return state.withLock { $0.hasShare(for: bytes, beside: own.shared, measured: room) }
    }

    /// Tells the writer how much to evict early. Promises from the share do not count, although they may use the
    /// head-room: entries are evicted for them only when the body is stored.
    var fullness: DiskFullness {
        state.withLock { state in
            DiskFullness(
                excess: state.used + state.reserved - state.shared - state.limit, headRoom: state.headRoom,
                room: state.room, used: (state.used, state.pinned))
        }
    }

    /// Whether `bytes` more would fit if all unpinned entries were evicted. Promised bytes stay. An unpinned body must
    /// leave the head-room free, because eviction would otherwise remove it at once to restore the head-room.
    func couldHold(_ bytes: Int64, asPinned: Bool) -> Bool {
        let room = room
        return state.withLock { state in
            let headRoom = asPinned ? 0 : state.headRoom
            return state.reserved + state.pinned + bytes + headRoom <= state.limit
                && bytes <= state.unpromised(of: room) + state.used - state.pinned
        }
    }

    func release(_ promise: Promise) {
        guard promise.bytes > 0 else { return }
        state.withLock { state in
            state.reserved -= promise.bytes
            state.shared -= promise.shared
        }
    }

    /// `reusable`: the bytes of free pages and slots. A committed entry counts twice until its promise is released.
    func commit(used: Int64, pinned: Int64, reusable: Int64) {
        let room = freeSpace.room(reusable: reusable)
        let now = ContinuousClock.now
        state.withLock {
            ($0.used, $0.pinned, $0.room, $0.reusable, $0.measured) = (used, pinned, room, reusable, (room, now))
        }
    }

    /// With more room than this, other programs cannot fill the disk between two measurements.
    private static let plentyOfRoom: Int64 = 2 << 30
    private static let measuringInterval = Duration.milliseconds(100)

    /// The bytes that the file system has free above the reserve, now.
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

    /// The bytes free above the reserve at the last commit, minus the promises since then.
    var roomAtCommit: Int64 { state.withLock { $0.room } }
}

/// The use of the disk, in bytes, as the writer sees it when it decides about upkeep.
struct DiskFullness {
    /// The bytes above the limit that are taken or promised; negative: below the limit.
    var excess: Int64
    var headRoom: Int64
    /// The bytes that the file system has free above the reserve.
    var room: Int64
    var used: (all: Int64, pinned: Int64)

    /// Whether so much of the reserve is used that other programs must have used it, and not only the growing index.
    var lacksRoom: Bool { room < -Self.leastRoom }
    /// Whether the limit or the reserve lacks room, and not only the head-room. Then even the newest entries may go.
    var isTooMuch: Bool { excess > 0 || lacksRoom }

    /// Eviction keeps this much free above the reserve.
    static let leastRoom: Int64 = 256 << 10

    /// The bytes that the writer keeps free below the limit, so that stores seldom wait for room: a sixteenth of the
    /// room that pinned entries leave, at most 64 MiB. A sixteenth of the whole limit could exceed that room.
    static func headRoom(ofLimit limit: Int64, pinned: Int64 = 0) -> Int64 {
        min(max(0, limit - pinned) / 16, 64 << 20)
    }
}

/// Measures the free space above the reserve by asking the file system, because other programs take space, too.
struct FreeSpace: Sendable {
    var reserve: DiskReserve
    var directory: String

    /// More bytes than any file system has, and few enough for sums without overflow.
    static let unlimited: Int64 = 1 << 60

    /// The bytes that may be written before less than the reserve is free; negative: so many are missing. ``unlimited``
    /// without a reserve, or when the file system cannot be asked. `reusable` are the free bytes in index pages and
    /// slots, which new entries fill, or which are given back.
    func room(reusable: Int64) -> Int64 {
        if reserve == .bytes(0) { return Self.unlimited }
        guard let space = FileSystem.space(at: directory) else { return Self.unlimited }
        return space.free + reusable - reserve.floor(ofSize: space.size)
    }
}
