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
    /// Where bodies of all namespaces wait to be written.
    let writeBuffers = WriteBuffers()
    /// The lock file and the directory, both locked.
    private let locks: [FileDescriptor]

    /// Creates the directory when it is missing, and takes its lock. It waits for that for a second.
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
        let end = ContinuousClock.now + Self.patience
        for (lock, path) in [(file, lockPath), (directory, self.path)] {
            var code: Int32 = 0
            while flock(lock.number, LOCK_EX | LOCK_NB) != 0 {
                code = errno
                if code != EWOULDBLOCK || ContinuousClock.now > end { break }
                usleep(10_000)
                code = 0
            }
            if code == 0 { continue }
            if code == EWOULDBLOCK { throw .inUse(directory: self.path) }
            // NFS locks only what is open for writing, which a directory never is: there the file has to do.
            if lock === directory, code == EBADF { continue }
            throw .fileSystem(operation: "flock", path: path, errno: code)
        }
    }

    /// A process that was killed has the lock until the kernel has taken it apart; whoever starts the next one at once
    /// waits for it.
    private static let patience = Duration.seconds(1)

    /// Gives the lock back before this object goes. Whoever works in the directory must be closed by then.
    public func unlock() {
        // Closing would not do at once: a child process that is just being started has a copy until it runs its
        // program.
        for lock in locks { flock(lock.number, LOCK_UN) }
    }

    /// The directories of namespaces that are here, sorted by namespace and generation.
    public func namespaceDirectories() throws(DiskCacheError) -> [NamespaceDirectory] {
        try Self.namespaceDirectories(in: path).sorted {
            ($0.namespace, $0.generation) < ($1.namespace, $1.generation)
        }
    }

    /// Whether there is a cache in that directory: at least one namespace; there is none where there is no directory.
    /// Changes nothing and takes no lock. Throws ``DiskCacheError/fileSystem(operation:path:errno:)`` when it cannot be
    /// read.
    public static func isCache(at path: String) throws(DiskCacheError) -> Bool {
        try !namespaceDirectories(in: path).isEmpty
    }

    /// Removes a namespace's directory with all that is in it, which nobody may have open. May take long.
    ///
    /// - Parameter mayGoOn: asked before each file and directory; when not, the rest stays.
    /// - Returns: whether it is gone.
    public func remove(_ place: NamespaceDirectory, while mayGoOn: () -> Bool = { true }) -> Bool {
        let directory = path(of: place)
        // What it is known by goes last: a kill leaves something that the next one to look finds again.
        for name in (try? FileSystem.names(in: directory)) ?? [] where name != Self.marks[0] {
            guard FileSystem.remove("\(directory)/\(name)", while: mayGoOn) else { return false }
        }
        FileSystem.remove(directory)
        return FileSystem.status(of: directory) == nil
    }

    /// The absolute path of a namespace's directory.
    func path(of place: NamespaceDirectory) -> String { "\(path)/\(place.name)" }

    /// Throws ``DiskCacheError/notACache(directory:)`` when what is in a namespace's directory is not Larder's, such as
    /// where a whole disk was named as the cache directory: bodies are looked for there, and what nobody knows is
    /// removed. One that is empty, or missing, is anybody's to take. Then what was claimed has its `CACHEDIR.TAG`.
    func claim(_ place: NamespaceDirectory) throws(DiskCacheError) {
        let directory = path(of: place)
        if FileSystem.status(of: directory) != nil, !Self.isNamespace(at: directory) {
            // What is made first, before anything is in it: see `BodyStore`; and what a file system has by itself.
            let isOurs = try FileSystem.names(in: directory).allSatisfy { ["incoming", "lost+found"].contains($0) }
            guard isOurs, try FileSystem.names(in: directory + "/incoming").isEmpty else {
                throw .notACache(directory: directory)
            }
        }
        try Self.writeTag(path + "/CACHEDIR.TAG")
    }

    /// Directories that have the name of one and something that only a namespace has; others may be anybody's.
    private static func namespaceDirectories(in path: String) throws(DiskCacheError) -> [NamespaceDirectory] {
        try FileSystem.names(in: path).compactMap { name in
            isNamespace(at: "\(path)/\(name)") ? NamespaceDirectory(name: name) : nil
        }
    }

    private static func isNamespace(at directory: String) -> Bool {
        marks.contains { FileSystem.status(of: "\(directory)/\($0)") != nil }
    }

    /// What only a namespace's directory has.
    private static let marks = ["index.sqlite", "incoming/intents"]

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
