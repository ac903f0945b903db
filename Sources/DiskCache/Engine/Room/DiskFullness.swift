/// The use of the disk, as the writer sees it when it looks for upkeep.
struct DiskFullness {
    /// The bytes above the limit that are taken or promised; negative: the bytes below the limit.
    var excess: Int64
    /// See ``headRoom(ofLimit:pinned:)``.
    var headRoom: Int64
    /// The bytes that the file system has free above the reserve.
    var room: Int64
    /// The bytes that entries take; and the bytes of the pinned entries.
    var used: (all: Int64, pinned: Int64)

    /// Whether the reserve is broken by more than the index may have grown by itself. Then other programs have used it.
    var lacksRoom: Bool { room < -Self.leastRoom }
    /// Whether more than the head-room is missing. Then the newest entries may go, too.
    var isTooMuch: Bool { excess > 0 || lacksRoom }

    /// The bytes that eviction keeps free above the reserve.
    static let leastRoom: Int64 = 256 << 10

    /// The distance that the writer keeps below the limit ahead of need, so that stores seldom wait for room: a
    /// sixteenth of the limit minus the pinned bytes, at most 64 MiB. A part of the whole limit could be more than all
    /// unpinned bytes.
    static func headRoom(ofLimit limit: Int64, pinned: Int64 = 0) -> Int64 {
        min(max(0, limit - pinned) / 16, 64 << 20)
    }
}
