/// Measures the free space of the file system above the reserve. Asks the file system each time. The file system counts
/// blocks, so data of other programs counts, and holes in sparse files and shared blocks do not.
struct FreeSpace: Sendable {
    var reserve: DiskReserve
    /// A directory on the file system.
    var directory: String

    /// More bytes than any file system has, and few enough for sums without overflow.
    static let unlimited: Int64 = 1 << 60

    /// The number of bytes that may be written before less than the reserve is free. A negative number of bytes is
    /// missing. Returns ``unlimited`` without a reserve, or when the file system cannot be asked.
    ///
    /// - Parameter reusable: the free bytes in index pages and slots. New entries fill them before files grow; free
    ///   slots of other sizes are given back.
    func room(reusable: Int64) -> Int64 {
        if reserve == .bytes(0) { return Self.unlimited }
        guard let space = FileSystem.space(at: directory) else { return Self.unlimited }
        return space.free + reusable - reserve.floor(ofSize: space.size)
    }
}
