import Crypto
import Foundation
import Primitives
import Synchronization

/// An open body file. The body stays readable while a reference exists, even when its file is replaced or removed.
package final class BodyFile: Sendable {
    private let file: FileDescriptor
    /// The path at which the file was opened.
    let path: String
    /// The error number of the first failed sync; 0 if no sync has failed.
    private let syncFailure = Atomic<Int32>(0)
    package let length: Int64

    init(_ file: FileDescriptor, length: Int64, path: String) {
        self.file = file
        self.length = length
        self.path = path
    }

    /// For system calls that read at a given position. Valid as long as this object lives.
    package var descriptor: Int32 { file.number }

    /// Reads until `target` is full or the body ends. Returns the number of bytes.
    package func read(into target: UnsafeMutableRawBufferPointer, at offset: Int64) throws(DiskCacheError) -> Int {
        try file.read(into: target, at: offset, path: path)
    }

    /// Throws also when the file is shorter than the body.
    package func readWhole() throws(DiskCacheError) -> SharedBytes { try read(0..<length) }

    func read(_ range: Range<Int64>) throws(DiskCacheError) -> SharedBytes {
        try file.read(range.count, at: range.lowerBound, path: path)
    }

    /// Returns 0, or the error number. A failed sync stays failed for this body: the kernel reports a failed write only
    /// once and then treats the pages as written, so a second sync would acknowledge bytes that are not on the disk.
    func sync(by fsync: (BodyFile) -> Int32) -> Int32 {
        let earlier = syncFailure.load(ordering: .relaxed)
        if earlier != 0 { return earlier }
        let code = fsync(self)
        if code != 0 { syncFailure.store(code, ordering: .relaxed) }
        return code
    }

    /// `nil` when the part is not in memory and reading it would wait for the disk.
    func readCached(_ range: Range<Int64>) -> SharedBytes? {
        struct NotCached: Error {}
        return try? SharedBytes(count: range.count) { target throws(NotCached) in
            guard CachedFile.read(file.number, into: target, at: range.lowerBound) == target.count else {
                throw NotCached()
            }
        }
    }

    func digest() throws(DiskCacheError) -> [UInt8] {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 16)
        defer { buffer.deallocate() }
        var hasher = SHA256()
        var offset: Int64 = 0
        while true {
            let count = try file.read(into: buffer, at: offset, path: path)
            hasher.update(bufferPointer: UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            offset += Int64(count)
            if count < buffer.count { return hasher.finalize().bytes }
        }
    }

    func status() -> FileStatus? { file.status() }

    /// Reads the whole body if it has at most `limit` bytes, otherwise only its beginning.
    func stored(upTo limit: Int64) throws(DiskCacheError) -> StoredBody {
        if length <= limit { return .bytes(try readWhole()) }
        // The kernel then has the beginning in memory when the body is sent, and reads the rest ahead of the sender.
        _ = try read(0..<min(length, Self.readAhead))
        return .file(self)
    }

    /// `nil` when the disk must be read.
    func cached(upTo limit: Int64) -> StoredBody? {
        if length <= limit { return readCached(0..<length).map { .bytes($0) } }
        // The kernel reads large blocks. If the bytes at these places are in memory, so are the bytes between them.
        let places = stride(from: 0, to: min(length, Self.readAhead), by: 64 << 10)
        return places.allSatisfy { readCached($0..<$0 + 1) != nil } ? .file(self) : nil
    }

    /// The part of a long body that is read before its first byte is sent.
    private static let readAhead: Int64 = 256 << 10
}

/// A body that can be sent. It stays readable while a reference exists, even when the entry is changed or removed.
package enum StoredBody: Sendable {
    case bytes(SharedBytes)
    case file(BodyFile)

    package var length: Int64 {
        switch self {
        case .bytes(let bytes): Int64(bytes.count)
        case .file(let file): file.length
        }
    }

    /// Copies a part of the body. Throws also when the file is shorter than the body.
    package func read(_ range: Range<Int64>) throws(DiskCacheError) -> SharedBytes {
        switch self {
        case .bytes(let bytes):
            bytes.withUnsafeBytes { bytes in
                SharedBytes(copying: .init(rebasing: bytes[Int(range.lowerBound)..<Int(range.upperBound)]))
            }
        case .file(let file): try file.read(range)
        }
    }

    package func bytes() throws(DiskCacheError) -> SharedBytes {
        switch self {
        case .bytes(let bytes): bytes
        case .file(let file): try file.readWhole()
        }
    }
}

/// The bodies that are open for reading. All readers of a body share one file descriptor. The lock guards the table.
/// While a file is open, no other file has its inode, so an open body with the same ``FileIdentity`` has the same file.
final class OpenBodies: Sendable {
    private struct Reference {
        weak var body: BodyFile?
    }

    /// `limit`: the number of rows at which the rows of closed bodies are dropped.
    private let table = Locked((bodies: [FileIdentity: Reference](), limit: 64))

    /// Includes the rows of closed bodies.
    var count: Int { table.withLock { $0.bodies.count } }

    /// Returns the body that is already open for the same file; otherwise registers and returns `opened`.
    func shared(_ opened: BodyFile, _ identity: FileIdentity) -> BodyFile {
        table.withLock { table in
            if let body = table.bodies[identity]?.body, body.length == opened.length { return body }
            if table.bodies.count >= table.limit {
                table.bodies = table.bodies.filter { $0.value.body != nil }
                table.limit = max(64, 2 * table.bodies.count)
            }
            table.bodies[identity] = Reference(body: opened)
            return opened
        }
    }
}

func digest(of body: SharedBytes) -> [UInt8] { body.withUnsafeBytes { digest(of: $0) } }

func digest(of bytes: UnsafeRawBufferPointer) -> [UInt8] {
    var hasher = SHA256()
    hasher.update(bufferPointer: bytes)
    return hasher.finalize().bytes
}

extension SHA256Digest {
    /// `Array(self)` would copy the sequence byte by byte.
    var bytes: [UInt8] { withUnsafeBytes { Array($0) } }
}

/// Memory that collects a body's bytes, so that they are written in pieces of 256 KiB that begin at a page of the file.
/// For a body of 1 MiB, pieces of 64 KiB cost the kernel a third more work. Without a buffer, bytes are written as they
/// arrive. Returned buffers are kept until ``trim()``, because clearing new pages costs as much as a buffer saves.
final class WriteBuffers: Sendable {
    static let capacity = 256 << 10
    /// All buffers together take 16 MiB.
    static let limit = 64

    /// `@unchecked Sendable` because it has one owner at a time: the pool, or a ``WriteBuffer``.
    fileprivate struct Memory: @unchecked Sendable {
        let bytes: UnsafeMutableRawBufferPointer
    }

    private let state = Locked((idle: [Memory](), takenCount: 0))

    deinit { trim() }

    /// `nil` when all buffers are in use.
    func take() -> WriteBuffer? {
        let memory: Memory?? = state.withLock { state in
            guard state.takenCount < Self.limit else { return nil }
            state.takenCount += 1
            return .some(state.idle.popLast())
        }
        guard let memory else { return nil }
        // Aligned to a page, so that each piece begins at a page in memory, as it does in the file.
        return WriteBuffer(memory ?? Memory(bytes: .allocate(byteCount: Self.capacity, alignment: 4096)), of: self)
    }

    /// Frees the idle buffers. Returns the number of bytes freed.
    @discardableResult
    func trim() -> Int {
        let idle = state.withLock { exchange(&$0.idle, with: []) }
        for memory in idle { memory.bytes.deallocate() }
        return idle.count * Self.capacity
    }

    fileprivate func giveBack(_ memory: Memory) {
        state.withLock { state in
            state.takenCount -= 1
            state.idle.append(memory)
        }
    }
}

/// Received bytes of a body that are not yet in its file. `@unchecked Sendable` because the owner, a ``GrowingBody``,
/// changes the buffer only under its own lock, and only the thread that makes these changes reads without that lock.
final class WriteBuffer: @unchecked Sendable {
    private let memory: WriteBuffers.Memory
    private let owner: WriteBuffers
    private(set) var count = 0

    fileprivate init(_ memory: WriteBuffers.Memory, of owner: WriteBuffers) {
        self.memory = memory
        self.owner = owner
    }

    deinit { owner.giveBack(memory) }

    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: memory.bytes[..<count]) }
    var isFull: Bool { count == memory.bytes.count }

    /// Takes as many bytes as fit. Returns their number.
    func fill(_ bytes: UnsafeRawBufferPointer) -> Int {
        let taken = min(bytes.count, memory.bytes.count - count)
        UnsafeMutableRawBufferPointer(rebasing: memory.bytes[count...])
            .copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[..<taken]))
        count += taken
        return taken
    }

    func empty() { count = 0 }
}
