import Foundation
import Primitives
import Synchronization

/// The names of files: the namespace's directory, bodies in it, and `incoming/`, where bodies are before and after they
/// are published. On the same file system, so that a rename is all that publishing takes.
///
/// - `incoming/<n>.part`: a body that is being received.
/// - `incoming/<id>-<n>.old`: a body that the transaction in progress takes away from the entry `<id>`.
/// - `incoming/intents`: the paths at which the transaction in progress puts bodies.
///
/// Who changes what: bodies under their published names, `.old` files and the intents belong to the writer's thread; a
/// `.part` belongs to the reservation that created it, and to the writer while that publishes it.
final class BodyStore: Sendable {
    /// The namespace's directory, absolute.
    let directory: String
    /// `incoming/` in it.
    let incoming: String
    private let numbers = Atomic<Int64>(0)
    private let intents: Locked<FileDescriptor>
    /// Room for the index when the disk is full: `ballast` in the namespace's directory.
    let ballast: Ballast
    /// Bodies that are read.
    private let openBodies = OpenBodies()
    /// Where bodies wait to be written.
    let writeBuffers: WriteBuffers

    init(
        directory: String, writeBuffers: WriteBuffers = WriteBuffers(), footprint: DiskCache.Footprint = .full
    ) throws(DiskCacheError) {
        self.directory = directory
        self.writeBuffers = writeBuffers
        incoming = directory + "/incoming"
        try FileSystem.makeDirectories(incoming)
        intents = Locked(try Self.openIntents(in: incoming))
        ballast = try Ballast(path: directory + "/ballast", size: footprint.ballastBytes)
    }

    /// Where the small bodies are.
    var slabPath: String { directory + "/bodies.slab" }

    /// The absolute path of a body.
    func absolute(_ path: String) -> String { directory + "/" + path }

    /// A name for a body that begins to be received.
    func newPartPath() -> String { "\(incoming)/\(nextNumber()).part" }

    /// A name for a body that is taken away from the entry of that number.
    func newOldPath(id: Int64) -> String { "\(incoming)/\(id)-\(nextNumber()).old" }

    /// Opens a body's file to read it. Throws what opening threw.
    func open(_ row: EntryRow, path: String) throws(DiskCacheError) -> (file: BodyFile, status: FileStatus?) {
        let name = absolute(path)
        return opened(try FileDescriptor(opening: name, Self.openFlags), row, name)
    }

    /// ``open(_:path:)`` without waiting for the disk, unless the kernel cannot tell.
    func openCached(
        _ row: EntryRow, path: String
    ) throws(DiskCacheError) -> Lookup<(file: BodyFile, status: FileStatus?)> {
        let name = absolute(path)
        switch CachedFile.open(name, Self.openFlags | O_CLOEXEC) {
        case nil: return .found(try open(row, path: path))
        case -1: return .onDisk
        case let number?: return .found(opened(FileDescriptor(owning: number), row, name))
        }
    }

    private static let openFlags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK

    private func opened(
        _ file: FileDescriptor, _ row: EntryRow, _ name: String
    ) -> (file: BodyFile, status: FileStatus?) {
        let status = file.status()
        let body = BodyFile(file, length: row.entry.contentLength, path: name)
        return (status.map { openBodies.shared(body, $0.identity) } ?? body, status)
    }

    /// Removes the directories above a body that are empty now.
    func removeEmptyDirectories(above path: String) {
        var rest = path[...]
        while let slash = rest.utf8.lastIndex(of: UInt8(ascii: "/")) {
            rest = rest[..<slash]
            if !FileSystem.removeDirectory(absolute(String(rest))) { return }
        }
    }

    // MARK: - incoming/

    /// Creates the file of a body that begins to be received. Throws what opening threw.
    func createPart(_ path: String) throws(DiskCacheError) -> FileDescriptor {
        let flags = O_RDWR | O_CREAT | O_EXCL
        do {
            return try FileDescriptor(opening: path, flags, mode: 0o600)
        } catch {
            guard case .fileSystem(_, _, ENOENT) = error else { throw error }
            restoreIncoming()
            return try FileDescriptor(opening: path, flags, mode: 0o600)
        }
    }

    /// Makes a system call that moves a body into `incoming/`; once more if that had gone. 0, or the error number.
    func movingIn(_ call: () -> Int32) -> Int32 {
        let code = call()
        guard code == ENOENT else { return code }
        restoreIncoming()
        return call()
    }

    /// Makes `incoming/` anew if somebody removed it; never the namespace's own directory. Any thread.
    private func restoreIncoming() {
        guard FileSystem.makeDirectory(incoming) == 0, let file = try? Self.openIntents(in: incoming) else { return }
        intents.withLock { $0 = file }
    }

    // MARK: - Intents

    private static func openIntents(in incoming: String) throws(DiskCacheError) -> FileDescriptor {
        try FileDescriptor(opening: incoming + "/intents", O_RDWR | O_CREAT | O_APPEND, mode: 0o600)
    }

    /// Notes that a body will be at `path`: if the process ends before the entry is committed, the next start removes
    /// it.
    func noteIntent(_ path: String) throws(DiskCacheError) {
        let intents = intents.withLock { $0 }
        var line = Array(path.utf8)
        line.append(0)
        let size = intents.status()?.identity.size ?? 0
        do {
            try line.withBytes { bytes throws(DiskCacheError) in
                try intents.write(bytes, path: incoming + "/intents")
            }
        } catch {
            // Half a line would run into the next one.
            ftruncate(intents.number, off_t(size))
            throw error
        }
    }

    /// Forgets the intents: what they were about is committed or undone.
    func clearIntents() {
        _ = intents.withLock { ftruncate($0.number, 0) }
    }

    /// The paths that were noted and not cleared.
    func notedIntents() throws(DiskCacheError) -> [String] {
        let intents = intents.withLock { $0 }
        let name = incoming + "/intents"
        let size = Int(intents.status()?.identity.size ?? 0)
        let bytes = try SharedBytes(count: size) { target throws(DiskCacheError) in
            _ = try intents.read(into: target, at: 0, path: name)
        }
        // What stands behind the last NUL was cut by the kill, and nothing was done about it yet.
        return bytes.withUnsafeBytes { bytes in
            let pieces = bytes.split(separator: 0, omittingEmptySubsequences: false).dropLast()
            return pieces.map { String(decoding: $0, as: UTF8.self) }
        }
    }

    private func nextNumber() -> Int64 {
        numbers.add(1, ordering: .relaxed).newValue
    }
}
