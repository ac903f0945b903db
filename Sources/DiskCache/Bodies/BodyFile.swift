import Crypto
import Foundation
import Primitives
import Synchronization

/// An open body: readable as long as somebody holds it, even when its file is replaced or removed meanwhile.
public final class BodyFile: Sendable {
    private let file: FileDescriptor
    private let path: String
    /// Why the disk did not keep it; 0: it did, or was not asked.
    private let syncFailure = Atomic<Int32>(0)
    /// The length of the body in bytes.
    public let length: Int64

    init(_ file: FileDescriptor, length: Int64, path: String) {
        self.file = file
        self.length = length
        self.path = path
    }

    /// The open file's number, for system calls that only read, at positions of their own; valid as long as this object
    /// lives.
    public var descriptor: Int32 { file.number }

    /// Reads at `offset` until `target` is full or the body ends; the number of bytes read.
    ///
    /// Throws ``DiskCacheError/fileSystem(operation:path:errno:)``.
    public func read(into target: UnsafeMutableRawBufferPointer, at offset: Int64) throws(DiskCacheError) -> Int {
        try file.read(into: target, at: offset, path: path)
    }

    /// All of the body, in memory. Throws ``DiskCacheError/fileSystem(operation:path:errno:)``, also when the file is
    /// shorter than the body.
    public func readWhole() throws(DiskCacheError) -> SharedBytes {
        try read(0..<length)
    }

    /// A part of the body, in memory; see ``readWhole()``.
    func read(_ range: Range<Int64>) throws(DiskCacheError) -> SharedBytes {
        try SharedBytes(count: range.count) { target throws(DiskCacheError) in
            guard try file.read(into: target, at: range.lowerBound, path: path) == target.count else {
                throw .fileSystem(operation: "read", path: path, errno: EIO)
            }
        }
    }

    /// Has the disk keep it; 0, or the error number. The kernel tells of a failed write only once, and takes the pages
    /// for written after that: so whatever failed stays failed, or a second try would acknowledge what is not there.
    func sync(by fsync: (BodyFile) -> Int32) -> Int32 {
        let earlier = syncFailure.load(ordering: .relaxed)
        if earlier != 0 { return earlier }
        let code = fsync(self)
        if code != 0 { syncFailure.store(code, ordering: .relaxed) }
        return code
    }

    /// A part of the body, without waiting for the disk; `nil` when it is not in memory.
    func readCached(_ range: Range<Int64>) -> SharedBytes? {
        struct NotCached: Error {}
        return try? SharedBytes(count: range.count) { target throws(NotCached) in
            let count = CachedFile.read(file.number, into: target, at: range.lowerBound)
            guard count == target.count else { throw NotCached() }
        }
    }

    /// SHA-256 of the whole body.
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
}

/// SHA-256 of a body in memory.
func digest(of body: SharedBytes) -> [UInt8] {
    body.withUnsafeBytes { digest(of: $0) }
}

/// SHA-256 of bytes in memory.
func digest(of bytes: UnsafeRawBufferPointer) -> [UInt8] {
    var hasher = SHA256()
    hasher.update(bufferPointer: bytes)
    return hasher.finalize().bytes
}

extension SHA256Digest {
    /// All of it. (As a sequence it would be copied byte by byte.)
    var bytes: [UInt8] { withUnsafeBytes { Array($0) } }
}
