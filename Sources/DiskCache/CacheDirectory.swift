import Foundation
import Primitives

/// A cache directory that this process, and no other, works in.
///
/// It is created with mode 0700 when it is missing, holds a `CACHEDIR.TAG` (so that backups skip it), a lock file, and
/// one directory a namespace. The lock is an `flock`, of that file and of the directory itself: it goes with the
/// process, however that ends, and nobody can remove it without the cache.
public final class CacheDirectory: Sendable {
    /// The absolute path, without a slash at its end.
    public let path: String
    /// The lock file and the directory, both locked.
    private let locks: [FileDescriptor]

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
        let file = try FileDescriptor(opening: lockPath, O_RDWR | O_CREAT, mode: 0o600)
        let directory = try FileDescriptor(opening: self.path, O_RDONLY | O_DIRECTORY)
        locks = [file, directory]
        for (lock, path) in [(file, lockPath), (directory, self.path)] {
            if flock(lock.number, LOCK_EX | LOCK_NB) == 0 { continue }
            let code = errno
            if code == EWOULDBLOCK { throw .inUse(directory: self.path) }
            // NFS locks only what is open for writing, which a directory never is: there the file has to do.
            if lock === directory, code == EBADF { continue }
            throw .fileSystem(operation: "flock", path: path, errno: code)
        }
        try Self.writeTag(self.path + "/CACHEDIR.TAG")
    }

    /// Gives the lock back before this object goes. Whoever works in the directory must be closed by then.
    public func unlock() {
        // Closing would not do at once: a child process that is just being started has a copy until it runs its
        // program.
        for lock in locks { flock(lock.number, LOCK_UN) }
    }

    /// The names of the namespaces that have a directory here, sorted.
    public func namespaces() throws(DiskCacheError) -> [String] {
        try Self.namespaces(in: path)
    }

    /// Whether there is a cache in that directory: at least one namespace. Changes nothing and takes no lock.
    public static func isCache(at path: String) -> Bool {
        (try? namespaces(in: path))?.isEmpty == false
    }

    /// Directories that have the name of one and something that only a namespace has; others may be anybody's.
    private static func namespaces(in path: String) throws(DiskCacheError) -> [String] {
        try FileSystem.names(in: path)
            .filter { name in
                isNamespace(name)
                    && ["index.sqlite", "incoming"].contains { FileSystem.status(of: "\(path)/\(name)/\($0)") != nil }
            }
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
