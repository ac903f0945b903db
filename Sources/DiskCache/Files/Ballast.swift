import Foundation

/// A file that is there to be given up: with a full disk even a removal fails, because the index has to log it first. So
/// some room is kept that nobody else can take, and used when the disk is full. Touched by the writer's thread alone,
/// but for its making.
final class Ballast: @unchecked Sendable {
    // @unchecked Sendable: `isThere` is set before the writer's thread starts, and only by that thread afterwards.
    private let file: FileDescriptor
    private var isThere = false

    /// The most bytes that it takes.
    private static let size: Int64 = 4 << 20

    /// Opens the file, which takes room at once.
    init(path: String) throws(DiskCacheError) {
        file = try FileDescriptor(opening: path, O_RDWR | O_CREAT, mode: 0o600)
        restore()
    }

    /// Gives the room up; whether there was any to give.
    func release() -> Bool {
        guard isThere else { return false }
        isThere = false
        return ftruncate(file.number, 0) == 0
    }

    /// Takes the room again, if there is plenty of it.
    func restore() {
        guard !isThere else { return }
        var volume = statvfs()
        guard fstatvfs(file.number, &volume) == 0 else { return }
        let free = Int64(volume.f_bavail) * Int64(volume.f_frsize)
        guard free >= 4 * Self.size || file.status()?.identity.size == Self.size else { return }
        isThere = posix_fallocate(file.number, 0, off_t(Self.size)) == 0
    }
}
