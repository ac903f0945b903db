import Foundation

/// A file that reserves disk space for removals on a full disk. A removal needs free space because the index logs the
/// change first. The ballast gives its room up for that log.
final class Ballast: @unchecked Sendable {
    // @unchecked Sendable: the initializer runs before the writer's thread, which alone uses the variables then.
    private let file: FileDescriptor
    private let path: String
    private(set) var length: Int64 = 0
    /// The most bytes that the file has occupied. ``restore()`` takes this many bytes again before other writers get
    /// them; otherwise the ballast would dwindle away on a disk that stays full.
    private var claim: Int64 = 0
    /// The most bytes that the file should occupy.
    private let size: Int64
    /// A smaller ballast hardly allows any removal.
    private static let leastSize: Int64 = 256 << 10

    /// Takes the room at once.
    init(path: String, size: Int64 = 4 << 20) throws(DiskCacheError) {
        self.path = path
        self.size = size
        file = try FileDescriptor(opening: path, O_RDWR | O_CREAT, mode: 0o600)
        // The size at the end of the last process, allocated again because a copy of the file may have holes.
        take(file.status()?.identity.size ?? 0)
        restore()
    }

    /// Returns whether there was room to give up.
    func release() -> Bool {
        guard length > 0 else { return false }
        length = 0
        return ftruncate(file.number, 0) == 0
    }

    /// Takes ``size`` bytes if the disk has at least four times as many, otherwise about a tenth of the free bytes.
    /// ``claim`` bytes are taken in any case, or as many of them as are free.
    func restore() {
        guard length < max(claim, Self.leastSize) else { return }
        let free = FileSystem.freeBytes(at: path)
        let share = free >= 4 * size ? size : max(free / 10, Self.leastSize)
        take(max(share <= free / 4 ? share : 0, min(claim, length + free)))
    }

    private func take(_ wanted: Int64) {
        guard wanted > length else { return }
        if posix_fallocate(file.number, 0, off_t(wanted)) == 0 {
            length = wanted
            claim = max(claim, wanted)
        } else {
            ftruncate(file.number, off_t(length))
        }
    }
}
