import CSystem
import Foundation

/// What the kernel has of a file in memory.
public enum CachedFile {
    /// Reads at `offset` without waiting for a disk: the number of bytes from there on that are in memory, at most
    /// `target.count`; -1 when there are none, or when the file system cannot tell (those of FUSE, some overlays).
    public static func read(_ descriptor: Int32, into target: UnsafeMutableRawBufferPointer, at offset: Int64) -> Int {
        var vector = iovec(iov_base: target.baseAddress, iov_len: target.count)
        return csystem_read_cached(descriptor, &vector, 1, Int(offset))
    }

    /// The same into several places, one after the other.
    public static func read(
        _ descriptor: Int32, into targets: [UnsafeMutableRawBufferPointer], at offset: Int64
    ) -> Int {
        let vectors = targets.map { iovec(iov_base: $0.baseAddress, iov_len: $0.count) }
        return csystem_read_cached(descriptor, vectors, vectors.count, Int(offset))
    }

    /// Opens a path without waiting for a disk: the descriptor; -1 when it would have to wait; `nil` when there is
    /// another reason why not, or the kernel does not say.
    public static func open(_ path: String, _ flags: Int32) -> Int32? {
        let descriptor = csystem_open_cached(path, flags)
        return descriptor >= 0 ? descriptor : errno == EAGAIN ? -1 : nil
    }
}
