import Foundation
import Primitives

/// A cache directory that only this process uses: a `CACHEDIR.TAG` (so that backups skip it), a lock file, and a
/// directory for each namespace. The `flock` on the lock file and on the directory itself ends with the process, even
/// after a kill. The lock of the directory still holds if another program removes the lock file.
package final class CacheDirectory: Sendable {
    /// Absolute, without a slash at its end.
    package let path: String
    let writeBuffers = WriteBuffers()
    private let locks: [FileDescriptor]

    /// Creates a missing directory, mode 0700. Waits up to a second for the lock, and then throws
    /// ``DiskCacheError/inUse(directory:)``. `pause` is called between two attempts to take the lock.
    package init(path: String, pause: () -> Void = { usleep(10_000) }) throws(DiskCacheError) {
        let absolute = path.hasPrefix("/") ? path : FileManager.default.currentDirectoryPath + "/" + path
        var trimmed = absolute[...]
        while trimmed.count > 1, trimmed.hasSuffix("/") { trimmed.removeLast() }
        self.path = String(trimmed)
        try FileSystem.makeDirectories(self.path)
        let lockPath = self.path + "/lock"
        let file = try FileDescriptor(opening: lockPath, O_RDWR | O_CREAT, mode: 0o600)
        let directory = try FileDescriptor(opening: self.path, O_RDONLY | O_DIRECTORY)
        locks = [file, directory]
        // A killed process keeps the lock until it has ended, so the next process waits for up to a second.
        let end = ContinuousClock.now + .seconds(1)
        for (lock, path) in [(file, lockPath), (directory, self.path)] {
            while flock(lock.number, LOCK_EX | LOCK_NB) != 0 {
                let code = errno
                // NFS locks only files open for writing, which a directory never is. The file's lock suffices there.
                if lock === directory, code == EBADF { break }
                guard code == EWOULDBLOCK else { throw .fileSystem(operation: "flock", path: path, errno: code) }
                if ContinuousClock.now > end { throw .inUse(directory: self.path) }
                pause()
            }
        }
    }

    /// Releases the lock, before the deallocation would. All namespaces in the directory must be closed already.
    package func unlock() {
        // Closing might release the lock late: a child process has copies of the descriptors until it runs its program.
        for lock in locks { flock(lock.number, LOCK_UN) }
    }

    package func namespaceDirectories() throws(DiskCacheError) -> [NamespaceDirectory] {
        try Self.namespaceDirectories(in: path).sorted { ($0.namespace, $0.generation) < ($1.namespace, $1.generation) }
    }

    /// Whether a directory holds a namespace; `false` when it is missing. Takes no lock. Throws when it cannot be read.
    package static func isCache(at path: String) throws(DiskCacheError) -> Bool {
        try !namespaceDirectories(in: path).isEmpty
    }

    /// Removes the directory of a namespace, which no cache may have open. This may take long. `mayGoOn` is called
    /// before each file; when it returns `false`, the remaining files stay. Returns whether the directory is gone.
    package func remove(_ place: NamespaceDirectory, while mayGoOn: () -> Bool = { true }) -> Bool {
        let directory = path(of: place)
        // The index is removed last, because it marks the directory as a namespace, by which a restart finds the rest.
        for name in (try? FileSystem.names(in: directory)) ?? [] where name != Self.marks[0] {
            guard FileSystem.remove("\(directory)/\(name)", while: mayGoOn) else { return false }
        }
        FileSystem.remove(directory)
        return FileSystem.status(of: directory) == nil
    }

    func path(of place: NamespaceDirectory) -> String { "\(path)/\(place.name)" }

    /// Writes the `CACHEDIR.TAG`. Throws ``DiskCacheError/notACache(directory:)`` when the directory of the namespace
    /// holds files of another program, because the cache removes unknown files from the directories of bodies.
    func claim(_ place: NamespaceDirectory) throws(DiskCacheError) {
        let directory = path(of: place)
        if FileSystem.status(of: directory) != nil, !Self.isNamespace(at: directory) {
            // A kill may leave only the empty `incoming`, which is made first. A new file system has `lost+found`.
            let isOurs = try FileSystem.names(in: directory).allSatisfy { ["incoming", "lost+found"].contains($0) }
            guard isOurs, try FileSystem.names(in: directory + "/incoming").isEmpty else {
                throw .notACache(directory: directory)
            }
        }
        let tagPath = path + "/CACHEDIR.TAG"
        guard FileSystem.status(of: tagPath) == nil else { return }
        let tag = """
            Signature: 8a477f597d28d172789f06886806bc55
            # This file is a cache directory tag created by Larder.
            # For information about cache directory tags see https://bford.info/cachedir/

            """
        let file = try FileDescriptor(opening: tagPath, O_WRONLY | O_CREAT, mode: 0o600)
        try SharedBytes(tag.utf8).withUnsafeBytes { bytes throws(DiskCacheError) in
            try file.write(bytes, path: tagPath)
        }
    }

    /// The directories with a valid name and a file that marks a namespace. Others may belong to other programs.
    private static func namespaceDirectories(in path: String) throws(DiskCacheError) -> [NamespaceDirectory] {
        try FileSystem.names(in: path).compactMap { name in
            isNamespace(at: "\(path)/\(name)") ? NamespaceDirectory(name: name) : nil
        }
    }

    private static func isNamespace(at directory: String) -> Bool {
        marks.contains { FileSystem.status(of: "\(directory)/\($0)") != nil }
    }

    private static let marks = ["index.sqlite", "incoming/intents"]

    /// 1 to 63 of `a` to `z`, `0` to `9` and `-`.
    package static func isNamespace(_ name: String) -> Bool {
        (1...63).contains(name.utf8.count)
            && name.utf8.allSatisfy { (0x61...0x7A).contains($0) || $0.isDigit || $0 == UInt8(ascii: "-") }
    }
}

extension NamespaceDirectory {
    package init?(name: String) {
        let parts = name.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        self.init(namespace: String(parts[0]), generation: parts.count == 2 ? Int(parts[1]) ?? 0 : 0)
        // The number must be spelled as ``name`` spells it.
        guard CacheDirectory.isNamespace(namespace), generation >= 0, self.name == name else { return nil }
    }
}
