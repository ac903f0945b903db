import Foundation
import Primitives

/// A cache directory that this process, and no other, works in.
///
/// It is created with mode 0700 when it is missing, holds a `CACHEDIR.TAG` (so that backups skip it), a lock file, and
/// one directory a namespace. The lock is an `flock`: it goes with the process, however that ends.
public final class CacheDirectory: Sendable {
    /// The absolute path, without a slash at its end.
    public let path: String
    private let lock: FileDescriptor

    /// Creates the directory when it is missing, and takes its lock.
    ///
    /// Throws ``DiskCacheError/inUse(directory:)`` when another process (or another object of this one) has it, and
    /// ``DiskCacheError/fileSystem(operation:path:errno:)``.
    public init(path: String) throws(DiskCacheError) {
        let absolute = path.hasPrefix("/") ? path : FileManager.default.currentDirectoryPath + "/" + path
        var trimmed = absolute[...]
        while trimmed.count > 1, trimmed.hasSuffix("/") { trimmed.removeLast() }
        self.path = String(trimmed)
        try FileSystem.makeDirectories(self.path)
        let lockPath = self.path + "/lock"
        lock = try FileDescriptor(opening: lockPath, O_RDWR | O_CREAT | O_CLOEXEC, mode: 0o600)
        guard flock(lock.number, LOCK_EX | LOCK_NB) == 0 else {
            let code = errno
            if code == EWOULDBLOCK { throw .inUse(directory: self.path) }
            throw .fileSystem(operation: "flock", path: lockPath, errno: code)
        }
        try Self.writeTag(self.path + "/CACHEDIR.TAG")
    }

    /// Gives the lock back before this object goes. Whoever works in the directory must be closed by then.
    public func unlock() {
        // Closing would not do at once: a child process that is just being started has a copy until it runs its program.
        flock(lock.number, LOCK_UN)
    }

    /// The names of the namespaces that have a directory here, sorted.
    public func namespaces() throws(DiskCacheError) -> [String] {
        try FileSystem.names(in: path)
            .filter { Self.isNamespace($0) && FileSystem.status(of: path + "/" + $0)?.isDirectory == true }
            .sorted()
    }

    /// Whether a text may name a namespace: 1 to 63 of `a` to `z`, `0` to `9` and `-`.
    public static func isNamespace(_ name: String) -> Bool {
        (1...63).contains(name.utf8.count)
            && name.utf8.allSatisfy { byte in
                (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte) || byte == UInt8(ascii: "-")
            }
    }

    /// See <https://bford.info/cachedir/>.
    private static func writeTag(_ path: String) throws(DiskCacheError) {
        guard FileSystem.status(of: path) == nil else { return }
        let tag = """
            Signature: 8a477f597d28d172789f06886806bc55
            # This file is a cache directory tag created by Larder.
            # For information about cache directory tags see https://bford.info/cachedir/

            """
        let file = try FileDescriptor(opening: path, O_WRONLY | O_CREAT | O_CLOEXEC, mode: 0o600)
        try Array(tag.utf8).withBytes { bytes throws(DiskCacheError) in try file.write(bytes, path: path) }
    }
}
