import Foundation

/// What the file system says about a file, as far as it matters here.
struct FileStatus: Equatable, Sendable {
    var identity: FileIdentity
    var isDirectory: Bool
    var isRegular: Bool

    init(_ raw: stat) {
        identity = FileIdentity(
            inode: Int64(bitPattern: UInt64(raw.st_ino)), size: Int64(raw.st_size),
            modified: raw.st_mtim.nanoseconds, changed: raw.st_ctim.nanoseconds)
        isDirectory = raw.st_mode & S_IFMT == S_IFDIR
        isRegular = raw.st_mode & S_IFMT == S_IFREG
    }
}

/// What tells that a file is still the one that was published, untouched: as long as it is the same, the body need not
/// be hashed again.
struct FileIdentity: Hashable, Sendable {
    var inode: Int64
    var size: Int64
    /// Modification time, in nanoseconds since the epoch.
    var modified: Int64
    /// Time of the last change of the inode, in nanoseconds since the epoch. Nobody can set it back.
    var changed: Int64
}

/// Which file it is that a path leads to, symbolic links followed: no two that exist at one time are equal.
struct FileNumber: Equatable, Sendable {
    private var device: dev_t
    private var inode: ino_t

    /// `nil` when the path leads nowhere.
    init?(of path: String) {
        var raw = stat()
        guard stat(path, &raw) == 0 else { return nil }
        (device, inode) = (raw.st_dev, raw.st_ino)
    }
}

extension timespec {
    fileprivate var nanoseconds: Int64 { Int64(tv_sec) &* 1_000_000_000 &+ Int64(tv_nsec) }
}
