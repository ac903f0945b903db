import DiskCache
import Foundation

/// The file of the ``NamespaceRegistry``. It is replaced as a whole, so a kill leaves the old or the new version.
///
/// The file exists as soon as a server has run. If it is missing, but its spare or a directory with a number exists, it
/// was lost, and the server does not start. The spare is a second file with reserved space for the next version, so
/// that a namespace can be removed when the disk is full. The first version is written through another temporary file,
/// so that a kill during the first start leaves no spare without a registry.
struct NamespaceRegistryFile: Sendable {
    private let directory: String
    private let path: String
    private var nextPath: String { path + ".new" }
    private var firstPath: String { path + ".first" }

    init(in directory: CacheDirectory) {
        self.directory = directory.path
        path = directory.path + "/" + NamespaceRegistry.fileName
    }

    /// Reads the registry. Creates the file when it is missing and there is no sign that it ever existed. `places` are
    /// the existing directories of namespaces.
    ///
    /// Throws ``NamespaceError/newerRegistry(file:)``, or ``NamespaceError/unreadableRegistry(file:reason:others:)``
    /// for a lost file, too. Then it is unknown which entries were purged, so the server serves no entry and changes no
    /// file.
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

    /// `nil` when the file is missing and there is no sign that it ever existed. Throws as ``load(beside:)`` does.
    func read(beside places: [NamespaceDirectory]) throws(NamespaceError) -> NamespaceRegistry? {
        do {
            if let text = try contents() { return try NamespaceRegistry(text: text) }
            guard places.contains(where: { $0.generation > 0 }) || hasSpare else { return nil }
            throw NamespaceRegistry.Unreadable(reason: "the file is missing")
        } catch is NamespaceRegistry.Newer {
            throw .newerRegistry(file: path)
        } catch {
            let reason = (error as? NamespaceRegistry.Unreadable)?.reason ?? "\(error)"
            let others = places.map(\.name) + (hasSpare ? [NamespaceRegistry.fileName + ".new"] : [])
            throw .unreadableRegistry(file: path, reason: reason, others: others)
        }
    }

    /// Whether the spare exists, as a file of any type.
    private var hasSpare: Bool {
        var status = stat()
        return lstat(nextPath, &status) == 0
    }

    /// `nil` when the file is missing.
    private func contents() throws -> [UInt8]? {
        do {
            return [UInt8](try Data(contentsOf: URL(filePath: path)))
        } catch let error as CocoaError {
            if error.code == .fileReadNoSuchFile { return nil }
            let cause = error.underlying as? POSIXError
            throw NamespaceRegistry.Unreadable(
                reason: cause.map { String(cString: strerror($0.code.rawValue)) } ?? "\(error)")
        }
    }

    /// The registry is on the disk when this method returns. Throws ``NamespaceError/registry(reason:)``, and
    /// ``NamespaceError/cache(_:)`` with ``DiskCacheError/noSpace`` when the disk is full.
    func save(_ registry: NamespaceRegistry, through temporary: String? = nil) throws(NamespaceError) {
        let nextPath = temporary ?? nextPath
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

    /// Reserves the space of the next version in the spare, if the disk has enough. Ignores errors.
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
