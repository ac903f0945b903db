import CSystem
import Foundation

/// What the kernel has of a file in memory.
public enum CachedFile {
    /// Reads at `offset` without waiting for a disk: the number of bytes from there on that are in memory, at most
    /// `target.count`; -1 when there are none, or when the file system cannot tell (those of FUSE, some overlays).
    public static func read(_ descriptor: Int32, into target: UnsafeMutableRawBufferPointer, at offset: Int64) -> Int {
        csystem_read_cached(descriptor, target.baseAddress, target.count, Int(offset))
    }

    /// Opens a path without waiting for a disk: the descriptor; -1 when it would have to wait; `nil` when there is
    /// another reason why not, or the kernel does not say.
    public static func open(_ path: String, _ flags: Int32) -> Int32? {
        let descriptor = csystem_open_cached(path, flags)
        return descriptor >= 0 ? descriptor : errno == EAGAIN ? -1 : nil
    }
}
