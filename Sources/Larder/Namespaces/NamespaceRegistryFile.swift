import DiskCache
import Foundation

/// Where the ``NamespaceRegistry`` is written down: replaced as a whole, so that a kill leaves the old one or the new.
///
/// It is there as soon as a server has run: where it is missing beside its spare, or beside directories that only it
/// can have named, it was lost, and the server does not start. The spare is a second file, with room for the next
/// version, so that a namespace can be removed from a disk that is full. The first version is written under a name of
/// its own, so that a kill at the first start leaves no spare without a file.
struct NamespaceRegistryFile: Sendable {
    private let directory: String
    private let path: String
    private var nextPath: String { path + ".new" }
    private var firstPath: String { path + ".first" }

    /// That of a cache directory.
    init(in directory: CacheDirectory) {
        self.directory = directory.path
        path = directory.path + "/" + NamespaceRegistry.fileName
    }

    /// Reads it, and writes it when there is none and nothing shows that there was one.
    ///
    /// - Parameter places: the directories that there are.
    /// - Throws: ``NamespaceError/registryRefused(_:)`` when it cannot be read, is a newer Larder's, or is missing
    ///   beside its spare or directories that only it can have named: which entries were purged, and which origins and
    ///   limits the namespaces have, is not known then, so nothing is served, and nothing changes.
    func load(beside places: [NamespaceDirectory]) throws(NamespaceError) -> NamespaceRegistry {
        let last = places.map(\.generation).max() ?? 0
        if var registry = try read(beside: places) {
            registry.skip(generationsUpTo: last)
            registry.forgetUnused { !places.contains($0) }
            makeRoom(for: registry)
            return registry
        }
        let registry = NamespaceRegistry()
        try save(registry, through: firstPath)
        return registry
    }

    /// Reads it; `nil` when there is none and nothing shows that there was one. Throws as ``load(beside:)``
    /// does.
    func read(beside places: [NamespaceDirectory]) throws(NamespaceError) -> NamespaceRegistry? {
        do {
            if let text = try contents() { return try NamespaceRegistry(text: text) }
            guard places.contains(where: { $0.generation > 0 }) || hasSpare else { return nil }
            throw NamespaceRegistry.Unreadable(reason: "it is missing")
        } catch is NamespaceRegistry.Newer {
            throw .registryRefused(.newer(file: path))
        } catch {
            let reason = (error as? NamespaceRegistry.Unreadable)?.reason ?? "\(error)"
            let others = places.map(\.name) + (hasSpare ? [NamespaceRegistry.fileName + ".new"] : [])
            throw .registryRefused(.unreadable(file: path, reason: reason, others: others))
        }
    }

    /// Whether the spare is there, in any form.
    private var hasSpare: Bool {
        var status = stat()
        return lstat(nextPath, &status) == 0
    }

    /// The file's bytes; `nil` when there is none.
    private func contents() throws -> [UInt8]? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        if descriptor < 0, errno == ENOENT { return nil }
        guard descriptor >= 0 else { throw NamespaceRegistry.Unreadable(reason: String(cString: strerror(errno))) }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = chunk.withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw NamespaceRegistry.Unreadable(reason: String(cString: strerror(errno))) }
            if count == 0 { return bytes }
            bytes += chunk[..<count]
        }
    }

    /// Writes it; it is on the disk when this returns. Throws ``NamespaceError/registry(reason:)``, and
    /// ``NamespaceError/cache(_:)`` with ``DiskCacheError/noSpace`` on a full disk.
    func save(_ registry: NamespaceRegistry) throws(NamespaceError) {
        try save(registry, through: nextPath)
    }

    private func save(_ registry: NamespaceRegistry, through nextPath: String) throws(NamespaceError) {
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
