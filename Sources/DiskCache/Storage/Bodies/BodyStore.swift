import Foundation
import Primitives
import Synchronization

/// The files of a namespace: the bodies, and `incoming/`, which holds bodies before they are published and after they
/// are removed or replaced. It is on the file system of the bodies, so that a rename publishes a body.
///
/// - `incoming/<n>.part`: a body that is being received.
/// - `incoming/<id>-<n>.old`: a body that the transaction in progress takes away from the entry `<id>`.
/// - `incoming/intents`: the paths at which the transaction in progress puts bodies.
///
/// Ownership: the writer's thread changes bodies under their published names, `.old` files and the intents. A `.part`
/// file belongs to its reservation, and to the writer during the publish. Paths of bodies are relative to `directory`.
final class BodyStore: Sendable {
    /// Absolute.
    let directory: String
    let incoming: String
    private let numbers = Atomic<Int64>(0)
    private let intents: Locked<FileDescriptor>
    /// Disk space for the index when the disk is full.
    let ballast: Ballast
    private let openBodies = OpenBodies()
    let writeBuffers: WriteBuffers

    init(directory: String, writeBuffers: WriteBuffers, footprint: Footprint) throws(DiskCacheError) {
        self.directory = directory
        self.writeBuffers = writeBuffers
        incoming = directory + "/incoming"
        try FileSystem.makeDirectories(incoming)
        intents = Locked(try Self.openIntents(in: incoming))
        ballast = try Ballast(path: directory + "/ballast", size: footprint.ballastBytes)
    }

    var slabPath: String { directory + "/bodies.slab" }

    func absolute(_ path: String) -> String { directory + "/" + path }

    func newPartPath() -> String { "\(incoming)/\(nextNumber()).part" }

    func newOldPath(id: Int64) -> String { "\(incoming)/\(id)-\(nextNumber()).old" }

    /// `length` is the length of the body according to the index. Throws the error of `open`.
    func open(_ path: String, length: Int64) throws(DiskCacheError) -> (file: BodyFile, status: FileStatus?) {
        let name = absolute(path)
        return opened(try FileDescriptor(opening: name, Self.openFlags), length, name)
    }

    /// Without `mayWait`, waits for the disk only if the kernel cannot tell whether opening the file needs the disk.
    func open(
        _ path: String, length: Int64, mayWait: Bool
    ) throws(DiskCacheError) -> Lookup<(file: BodyFile, status: FileStatus?)> {
        let name = absolute(path)
        switch mayWait ? nil : CachedFile.open(name, Self.openFlags | O_CLOEXEC) {
        case nil: return .found(try open(path, length: length))
        case -1: return .onDisk
        case let number?: return .found(opened(FileDescriptor(owning: number), length, name))
        }
    }

    private static let openFlags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK

    private func opened(
        _ file: FileDescriptor, _ length: Int64, _ name: String
    ) -> (file: BodyFile, status: FileStatus?) {
        let status = file.status()
        let body = BodyFile(file, length: length, path: name)
        return (status.map { openBodies.shared(body, $0.identity) } ?? body, status)
    }

    func removeEmptyDirectories(above path: String) {
        var rest = path[...]
        while let slash = rest.utf8.lastIndex(of: UInt8(ascii: "/")) {
            rest = rest[..<slash]
            if !FileSystem.removeDirectory(absolute(String(rest))) { return }
        }
    }

    // MARK: - incoming/

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

    /// Runs a system call that moves a body into `incoming/`, which is created if missing. Returns the error number.
    func movingIn(_ call: () -> Int32) -> Int32 {
        let code = call()
        guard code == ENOENT else { return code }
        restoreIncoming()
        return call()
    }

    /// Creates `incoming/` if another program removed it, but never the namespace's own directory. For any thread.
    private func restoreIncoming() {
        guard FileSystem.makeDirectory(incoming) == 0, let file = try? Self.openIntents(in: incoming) else { return }
        intents.withLock { $0 = file }
    }

    static func putBack(_ old: String, to place: String) {
        var code = FileSystem.rename(old, to: place)
        if code == ENOENT, let slash = place.lastSlash {
            try? FileSystem.makeDirectories(String(place[..<slash]))
            code = FileSystem.rename(old, to: place)
        }
        // A rename between two names of one file keeps both names. If a rename fails, `.old` stays for the next start.
        if code == 0 { FileSystem.unlink(old) }
    }

    // MARK: - Intents

    private static func openIntents(in incoming: String) throws(DiskCacheError) -> FileDescriptor {
        try FileDescriptor(opening: incoming + "/intents", O_RDWR | O_CREAT | O_APPEND, mode: 0o600)
    }

    /// Notes a path: if the process ends before the entry is committed, the next start removes the body at that path.
    func noteIntent(_ path: String) throws(DiskCacheError) {
        let intents = intents.withLock { $0 }
        let line = SharedBytes(Array(path.utf8) + [0])
        let size = intents.status()?.identity.size ?? 0
        do {
            try line.withUnsafeBytes { bytes throws(DiskCacheError) in
                try intents.write(bytes, path: incoming + "/intents")
            }
        } catch {
            // Half a line would run into the next line.
            ftruncate(intents.number, off_t(size))
            throw error
        }
    }

    /// Called once the transaction is committed or undone.
    func clearIntents() {
        _ = intents.withLock { ftruncate($0.number, 0) }
    }

    func notedIntents() throws(DiskCacheError) -> [String] {
        let intents = intents.withLock { $0 }
        let name = incoming + "/intents"
        let size = Int(intents.status()?.identity.size ?? 0)
        let bytes = try SharedBytes(count: size) { target throws(DiskCacheError) in
            _ = try intents.read(into: target, at: 0, path: name)
        }
        // A line without a NUL at its end was cut by a kill. The body was not moved yet, so the line is ignored.
        return bytes.withUnsafeBytes { bytes in
            let pieces = bytes.split(separator: 0, omittingEmptySubsequences: false).dropLast()
            return pieces.map { String(decoding: $0, as: UTF8.self) }
        }
    }

    private func nextNumber() -> Int64 {
        numbers.add(1, ordering: .relaxed).newValue
    }
}

/// Iterates over the tree of published bodies, one directory at a time.
struct BodyTree {
    private var directories: [String]
    private let bodies: BodyStore

    init(_ bodies: BodyStore) throws(DiskCacheError) {
        self.bodies = bodies
        directories = try FileSystem.names(in: bodies.directory).filter(Self.isRoot)
            .filter { FileSystem.status(of: bodies.absolute($0))?.isDirectory == true }
    }

    /// Whether the top directory `name` may hold bodies: two hexadecimal digits, or a directory of the readable layout.
    static func isRoot(_ name: String) -> Bool {
        name == "QUrlCaches" || name == "QDataCaches"
            || name.utf8.count == 2 && name.utf8.allSatisfy { $0.hexDigitValue != nil }
    }

    /// Returns the relative paths of the files in the next directory; `nil` after the last directory.
    mutating func next() throws(DiskCacheError) -> [String]? {
        guard let directory = directories.popLast() else { return nil }
        var files: [String] = []
        for name in try FileSystem.names(in: bodies.absolute(directory)) {
            let path = directory + "/" + name
            if FileSystem.status(of: bodies.absolute(path))?.isDirectory == true {
                directories.append(path)
            } else {
                files.append(path)
            }
        }
        return files
    }
}

/// Disk space for removals on a full disk: the index logs a removal first, and the ballast makes room for that log.
final class Ballast: @unchecked Sendable {
    // @unchecked Sendable: the initializer runs before the writer's thread, which alone uses the variables afterwards.
    private let file: FileDescriptor
    private let path: String
    private(set) var length: Int64 = 0
    /// The most bytes held so far. After a ``release()``, ``restore()`` takes as many again, if the disk has room.
    private var claim: Int64 = 0
    /// The most bytes that the file should occupy.
    private let size: Int64
    /// The least useful size: a smaller ballast has room for hardly any removal.
    private static let leastSize: Int64 = 256 << 10

    init(path: String, size: Int64) throws(DiskCacheError) {
        self.path = path
        self.size = size
        file = try FileDescriptor(opening: path, O_RDWR | O_CREAT, mode: 0o600)
        // Takes the size that the last process left, and allocates all blocks, because a copied file may have holes.
        take(file.status()?.identity.size ?? 0)
        restore()
    }

    /// Frees the disk space of the ballast. `false`: the ballast held none, or the file could not be cut.
    func release() -> Bool {
        guard length > 0 else { return false }
        length = 0
        return ftruncate(file.number, 0) == 0
    }

    /// Takes ``size`` bytes if four times as many are free, otherwise about a tenth of the free bytes. Takes at least
    /// ``claim`` bytes, or as many of them as are free.
    func restore() {
        guard length < max(claim, Self.leastSize) else { return }
        let free = FileSystem.freeBytes(at: path)
        let share = free >= 4 * size ? size : max(free / 10, Self.leastSize)
        take(max(share <= free / 4 ? share : 0, min(claim, length + free)))
    }

    private func take(_ wanted: Int64) {
        guard wanted > length else { return }
        if posix_fallocate(file.number, 0, off_t(wanted)) == 0 {
            length = wanted
            claim = max(claim, wanted)
        } else {
            ftruncate(file.number, off_t(length))
        }
    }
}
