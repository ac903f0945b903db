import DiskCache
import Foundation
import Logging
import Primitives

/// Where the ``NamespaceRegistry`` is written down: replaced as a whole, so that a kill leaves the old one or the new.
///
/// It is there as soon as a server has run: where it is missing beside directories that only it can have named, it was
/// lost. A second file waits beside it, with room for what is written next, so that a namespace can be removed from a
/// disk that is full.
struct NamespaceRegistryFile: Sendable {
    private let directory: String
    private let path: String
    private var nextPath: String { path + ".new" }

    /// That of a cache directory.
    init(in directory: CacheDirectory) {
        self.directory = directory.path
        path = directory.path + "/" + NamespaceRegistry.fileName
    }

    /// Reads it, and writes it when there is none. One that is not as it was written is set aside under a dated name,
    /// and everything begins anew, empty; so it does when it was lost.
    ///
    /// - Parameter places: the directories that there are.
    /// - Throws: ``NamespaceError/registry(reason:)`` when it cannot be read, or is a newer Larder's: then nothing
    ///   changes.
    func load(beside places: [NamespaceDirectory], now: Timestamp, logger: Logger) throws(NamespaceError)
        -> NamespaceRegistry
    {
        let last = places.map(\.generation).max() ?? 0
        var registry: NamespaceRegistry
        do {
            if let found = try read() {
                registry = found
                registry.skip(generationsUpTo: last)
                makeRoom(for: registry)
                return registry
            }
            registry = last == 0 ? NamespaceRegistry() : NamespaceRegistry(beginningAfter: last)
            if last > 0 {
                logger.error(
                    "the file that says which namespaces there are is gone; the cache starts empty",
                    metadata: ["file": "\(path)"])
            }
        } catch let error as NamespaceRegistry.Unreadable {
            let kept = path + ".corrupt-" + now.rfc3339.filter { $0 != ":" && $0 != "-" && $0 != "." }
            // The old name stays until the new file has it.
            guard link(path, kept) == 0 || errno == EEXIST else { throw failure("link", kept) }
            logger.error(
                "the namespaces could not be read and were set aside; the cache starts empty",
                metadata: ["file": "\(path)", "kept": "\(kept)", "reason": "\(error)"])
            registry = NamespaceRegistry(beginningAfter: last)
        } catch let error as NamespaceError {
            throw error
        } catch {
            throw .registry(reason: "\(path): \(error)")
        }
        try save(registry)
        return registry
    }

    /// Reads it; `nil` when there is none. Throws ``NamespaceError/registry(reason:)`` when the file cannot be read,
    /// and what ``NamespaceRegistry/init(text:)`` does.
    func read() throws -> NamespaceRegistry? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        if descriptor < 0, errno == ENOENT { return nil }
        guard descriptor >= 0 else { throw failure("open", path) }
        let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        guard let data = try handle.readToEnd() else { throw NamespaceRegistry.Unreadable() }
        return try NamespaceRegistry(text: Array(data))
    }

    /// Writes it; it is on the disk when this returns. Throws ``NamespaceError/registry(reason:)``, and
    /// ``NamespaceError/cache(_:)`` with ``DiskCacheError/noSpace`` on a full disk.
    func save(_ registry: NamespaceRegistry) throws(NamespaceError) {
        let descriptor = open(nextPath, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw failure("open", nextPath) }
        defer { close(descriptor) }
        let text = registry.text
        var written = 0
        while written < text.count {
            let count = text[written...].withUnsafeBytes {
                pwrite(descriptor, $0.baseAddress, $0.count, off_t(written))
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw failure("write", nextPath) }
            written += count
        }
        guard ftruncate(descriptor, off_t(text.count)) == 0, fsync(descriptor) == 0 else {
            throw failure("write", nextPath)
        }
        guard rename(nextPath, path) == 0 else { throw failure("rename", nextPath) }
        let parent = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        if parent >= 0 {
            fsync(parent)
            close(parent)
        }
        makeRoom(for: registry)
    }

    /// Takes the room that the next version will need, as far as there is any.
    private func makeRoom(for registry: NamespaceRegistry) {
        let descriptor = open(nextPath, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return }
        posix_fallocate(descriptor, 0, off_t(registry.text.count + (16 << 10)))
        close(descriptor)
    }

    private func failure(_ operation: String, _ name: String) -> NamespaceError {
        let code = errno
        if code == ENOSPC || code == EDQUOT { return .cache(.noSpace) }
        return .registry(reason: "\(operation) \(name): \(String(cString: strerror(code)))")
    }
}
