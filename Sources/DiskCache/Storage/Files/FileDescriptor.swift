import Foundation
import Primitives

/// An open file, closed when its last reference goes away.
final class FileDescriptor: Sendable {
    /// Valid as long as this object lives.
    let number: Int32

    init(opening path: String, _ flags: Int32, mode: mode_t = 0) throws(DiskCacheError) {
        let number = retryingInterrupts { open(path, flags | O_CLOEXEC, mode) }
        guard number >= 0 else { throw .system("open", path, errno) }
        self.number = number
    }

    init(owning number: Int32) { self.number = number }
    deinit { close(number) }

    func status() -> FileStatus? {
        var raw = stat()
        return fstat(number, &raw) == 0 ? FileStatus(raw) : nil
    }

    /// Writes all of `bytes` at the file's current position.
    func write(_ bytes: UnsafeRawBufferPointer, path: String) throws(DiskCacheError) {
        var done = 0
        while done < bytes.count {
            let count = retryingInterrupts { Foundation.write(number, bytes.baseAddress! + done, bytes.count - done) }
            guard count > 0 else { throw .system("write", path, count < 0 ? errno : EIO) }
            done += count
        }
    }

    /// Reads until `target` is full or the file ends. Returns the number of bytes.
    func read(into target: UnsafeMutableRawBufferPointer, at offset: Int64, path: String) throws(DiskCacheError) -> Int
    {
        var done = 0
        while done < target.count {
            let count = retryingInterrupts {
                pread(number, target.baseAddress! + done, target.count - done, off_t(offset) + off_t(done))
            }
            guard count >= 0 else { throw .system("read", path, errno) }
            if count == 0 { break }
            done += count
        }
        return done
    }

    /// Throws also when the file ends before `count` bytes.
    func read(_ count: Int, at offset: Int64, path: String) throws(DiskCacheError) -> SharedBytes {
        try SharedBytes(count: count) { target throws(DiskCacheError) in
            guard try read(into: target, at: offset, path: path) == count else { throw .system("read", path, EIO) }
        }
    }
}

/// Repeats a system call while a signal interrupts it (EINTR).
func retryingInterrupts<Number: FixedWidthInteger>(_ call: () -> Number) -> Number {
    while true {
        let result = call()
        if result != -1 || errno != EINTR { return result }
    }
}

extension DiskCacheError {
    /// ``noSpace`` for a full disk or quota.
    static func system(_ operation: String, _ path: String, _ code: Int32) -> DiskCacheError {
        code == ENOSPC || code == EDQUOT ? .noSpace : .fileSystem(operation: operation, path: path, errno: code)
    }

    /// Whether the file is missing, or the disk cannot read it any more.
    var isMissingFile: Bool {
        guard case .fileSystem(_, _, let code) = self else { return false }
        return [ENOENT, ENOTDIR, EISDIR, ELOOP, ENXIO, EIO, EUCLEAN, EBADMSG].contains(code)
    }
}

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

/// A file that still has the identity in the index need not be hashed again. Times are in nanoseconds since the epoch.
package struct FileIdentity: Hashable, Sendable {
    var inode: Int64
    var size: Int64
    var modified: Int64
    /// The last change of the inode. Programs cannot set this time back.
    var changed: Int64
}

/// The device and inode of a file; symbolic links are followed. No two existing files have the same number.
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
