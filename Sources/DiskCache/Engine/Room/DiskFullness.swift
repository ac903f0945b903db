/// The use of the disk, in bytes, as the writer sees it when it looks for upkeep.
struct DiskFullness {
    /// The bytes above the limit that are taken or promised; negative: below the limit.
    var excess: Int64
    var headRoom: Int64
    /// Free on the file system above the reserve.
    var room: Int64
    var used: (all: Int64, pinned: Int64)

    /// The reserve is broken by more than the index may have grown by itself. Then other programs have used it.
    var lacksRoom: Bool { room < -Self.leastRoom }
    /// More than the head-room is missing. Then the newest entries may go, too.
    var isTooMuch: Bool { excess > 0 || lacksRoom }

    /// Eviction keeps this much free above the reserve.
    static let leastRoom: Int64 = 256 << 10

    /// The distance that the writer keeps below the limit ahead of need, so that stores seldom wait for room: a
    /// sixteenth of the unpinned part of the limit, which a part of the whole limit could exceed, at most 64 MiB.
    static func headRoom(ofLimit limit: Int64, pinned: Int64 = 0) -> Int64 {
        min(max(0, limit - pinned) / 16, 64 << 20)
    }
}
