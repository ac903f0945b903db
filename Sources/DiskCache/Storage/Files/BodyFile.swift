import Crypto
import Foundation
import Primitives
import Synchronization

/// An open body file. The body stays readable while a reference exists, even when its file is replaced or removed.
package final class BodyFile: Sendable {
    private let file: FileDescriptor
    private let path: String
    /// The error number of the sync that failed; 0: none has failed.
    private let syncFailure = Atomic<Int32>(0)
    package let length: Int64

    init(_ file: FileDescriptor, length: Int64, path: String) {
        self.file = file
        self.length = length
        self.path = path
    }

    /// Serves system calls that read at a position of their own. Valid as long as this object lives.
    package var descriptor: Int32 { file.number }

    /// Reads until `target` is full or the body ends. Returns the number of bytes.
    package func read(into target: UnsafeMutableRawBufferPointer, at offset: Int64) throws(DiskCacheError) -> Int {
        try file.read(into: target, at: offset, path: path)
    }

    /// Throws also when the file is shorter than the body.
    package func readWhole() throws(DiskCacheError) -> SharedBytes {
        try read(0..<length)
    }

    func read(_ range: Range<Int64>) throws(DiskCacheError) -> SharedBytes {
        try SharedBytes(count: range.count) { target throws(DiskCacheError) in
            guard try file.read(into: target, at: range.lowerBound, path: path) == target.count else {
                throw .fileSystem(operation: "read", path: path, errno: EIO)
            }
        }
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
            let count = CachedFile.read(file.number, into: target, at: range.lowerBound)
            guard count == target.count else { throw NotCached() }
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
}
