/// How much of the file system is left to others: a part of all of it, or so many bytes.
public enum DiskReserve: Hashable, Sendable {
    /// So many hundredths of the file system.
    case percent(Double)
    /// So many bytes; 0: none.
    case bytes(Int64)

    /// The fewest bytes that may be left of a file system of `size` bytes.
    func floor(ofSize size: Int64) -> Int64 {
        switch self {
        case .percent(let percent): Int64(Double(size) * percent / 100)
        case .bytes(let bytes): bytes
        }
    }
}

/// What is left of the file system above the reserve. It asks the file system each time, which counts blocks: what
/// others write counts too, and what a sparse file or a shared block does not take does not.
struct FreeSpace: Sendable {
    var reserve: DiskReserve
    /// A directory on the file system.
    var directory: String

    /// More than any file system has, and few enough for every sum.
    static let unlimited: Int64 = 1 << 60

    /// How many bytes may be taken before fewer are free than the reserve; negative: so many too few are.
    ///
    /// - Parameter reusable: how many bytes of pages of the index and of slots are free: what comes takes them before
    ///   files grow, or, slots of another size, they are given back.
    func room(reusable: Int64) -> Int64 {
        if reserve == .bytes(0) { return Self.unlimited }
        guard let space = FileSystem.space(at: directory) else { return Self.unlimited }
        return space.free + reusable - reserve.floor(ofSize: space.size)
    }
}
