/// The part of the file system that is left to other programs.
package enum DiskReserve: Hashable, Sendable {
    /// A part of the size of the file system.
    case percent(Double)
    /// 0: no reserve.
    case bytes(Int64)

    func floor(ofSize size: Int64) -> Int64 {
        switch self {
        case .percent(let percent): Int64(Double(size) * percent / 100)
        case .bytes(let bytes): bytes
        }
    }
}
