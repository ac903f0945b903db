import Foundation

/// A file that is there to be given up: with a full disk even a removal fails, because the index has to log it first.
/// So some room is kept that nobody else can take, and used when the disk is full. Touched by the writer's thread
/// alone, but for its making.
final class Ballast: @unchecked Sendable {
    // @unchecked Sendable: what changes is set before the writer's thread starts, and only by that thread afterwards.
    private let file: FileDescriptor
    private let path: String
    /// How many bytes it takes now.
    private(set) var length: Int64 = 0
    /// The most that it has taken. That much it takes again before anybody else does, or it would dwindle away on a
    /// disk that stays full.
    private var claim: Int64 = 0

    /// The most bytes that it takes.
    private let size: Int64
    /// With fewer bytes hardly anything could be removed.
    private static let leastSize: Int64 = 256 << 10

    /// Opens the file, which takes room at once: up to `size` bytes.
    init(path: String, size: Int64 = 4 << 20) throws(DiskCacheError) {
        self.path = path
        self.size = size
        file = try FileDescriptor(opening: path, O_RDWR | O_CREAT, mode: 0o600)
        // What it had when the process ended; a copy of the file may have a hole there.
        take(file.status()?.identity.size ?? 0)
        restore()
    }

    /// Gives the room up; whether there was any to give.
    func release() -> Bool {
        guard length > 0 else { return false }
        length = 0
        return ftruncate(file.number, 0) == 0
    }

    /// Takes the room again: all of it if there is plenty, about a tenth of what there is if there is less, and what it
    /// had before in any case.
    func restore() {
        guard length < max(claim, Self.leastSize) else { return }
        let free = FileSystem.freeBytes(at: path)
        let share = free >= 4 * size ? size : max(free / 10, Self.leastSize)
        take(max(share <= free / 4 ? share : 0, min(claim, length + free)))
    }

    /// Grows to that many bytes, if they are to be had.
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
