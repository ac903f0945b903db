import CSystem
import Foundation

/// Reads and opens files if the kernel has their data in memory.
package enum CachedFile {
    /// Reads at `offset` without waiting for a disk. Returns the number of bytes that are in memory from `offset` on,
    /// at most `target.count`; -1 when no byte is in memory, or when the file system cannot tell (FUSE, some overlays).
    package static func read(_ descriptor: Int32, into target: UnsafeMutableRawBufferPointer, at offset: Int64) -> Int {
        var vector = iovec(iov_base: target.baseAddress, iov_len: target.count)
        return csystem_read_cached(descriptor, &vector, 1, Int(offset))
    }

    package static func read(
        _ descriptor: Int32, into targets: [UnsafeMutableRawBufferPointer], at offset: Int64
    ) -> Int {
        let vectors = targets.map { iovec(iov_base: $0.baseAddress, iov_len: $0.count) }
        return csystem_read_cached(descriptor, vectors, vectors.count, Int(offset))
    }

    /// Opens a path without waiting for a disk. Returns the descriptor; -1 when the call would have to wait; `nil`
    /// after any other error, or when the kernel cannot tell.
    package static func open(_ path: String, _ flags: Int32) -> Int32? {
        let descriptor = csystem_open_cached(path, flags)
        return descriptor >= 0 ? descriptor : errno == EAGAIN ? -1 : nil
    }
}

package enum WriteBack {
    /// Starts the write of a file's dirty pages, to shorten a later sync of the file. Guarantees no durability.
    package static func begin(_ descriptor: Int32) {
        csystem_begin_writing(descriptor)
    }
}

package enum FileHole {
    /// Frees the disk blocks of a range, which then reads as zeros, where the file system supports it.
    package static func make(in descriptor: Int32, _ range: Range<Int64>) {
        csystem_erase(descriptor, Int(range.lowerBound), range.count)
    }
}

package enum DescriptorLimit {
    /// The number of files and sockets that the process may have open at once: the soft limit `RLIMIT_NOFILE`, at most
    /// 2^30; 1,024 when the system does not report it.
    package static var current: Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 1024 }
        return Int(min(limit.rlim_cur, 1 << 30))
    }
}
