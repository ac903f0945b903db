import Foundation

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

/// Identifies an untouched file: while a published file has the same identity, its body need not be hashed again. Times
/// are in nanoseconds since the epoch.
package struct FileIdentity: Hashable, Sendable {
    var inode: Int64
    var size: Int64
    var modified: Int64
    /// The last change of the inode. Programs cannot set this time back.
    var changed: Int64
}

/// The device and inode of a file; symbolic links are followed. Files that exist together have different numbers.
struct FileNumber: Equatable, Sendable {
    private var device: dev_t
    private var inode: ino_t

    init?(of path: String) {
        var raw = stat()
        guard stat(path, &raw) == 0 else { return nil }
        (device, inode) = (raw.st_dev, raw.st_ino)
    }
}

extension timespec {
    fileprivate var nanoseconds: Int64 { Int64(tv_sec) &* 1_000_000_000 &+ Int64(tv_nsec) }
}
