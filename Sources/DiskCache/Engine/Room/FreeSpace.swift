/// Measures the free space of the file system above the reserve. The file system counts blocks, so data of other
/// programs counts, and holes in sparse files and shared blocks do not.
struct FreeSpace: Sendable {
    var reserve: DiskReserve
    var directory: String

    /// More bytes than any file system has, and few enough for sums without overflow.
    static let unlimited: Int64 = 1 << 60

    /// The bytes that may be written before less than the reserve is free; negative: they are missing. ``unlimited``
    /// without a reserve, or when the file system cannot be asked. `reusable` are the free bytes in index pages and
    /// slots: new entries fill them before files grow, and free slots of other sizes are given back.
    func room(reusable: Int64) -> Int64 {
        if reserve == .bytes(0) { return Self.unlimited }
        guard let space = FileSystem.space(at: directory) else { return Self.unlimited }
        return space.free + reusable - reserve.floor(ofSize: space.size)
    }
}
