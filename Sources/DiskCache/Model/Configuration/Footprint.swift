import Foundation

/// The resources that a namespace takes for itself, regardless of its entries.
package enum Footprint: Hashable, Sendable {
    /// For a million entries and many concurrent requests.
    case full
    /// For a namespace among many that are mostly small: about a quarter of the descriptors and threads, and at most a
    /// quarter of the memory.
    case small

    /// The number of connections that look up entries without waiting for the disk. It equals the number of serving
    /// threads, so that no thread waits for another. ``small`` has a quarter of it, but at least 2.
    var lookupCount: Int {
        let threads = max(2, min(16, ProcessInfo.processInfo.activeProcessorCount))
        return self == .full ? threads : max(2, threads / 4)
    }

    /// The page cache of all look-up connections together, in bytes. With a million entries, the inner pages of the
    /// three trees take 5 MiB. A page that is not cached here is copied out of the kernel's memory.
    var lookupCacheBytes: Int { self == .full ? max(12 << 20, lookupCount << 20) : 1 << 20 }

    /// The page cache of the writer's connection, in bytes.
    var writerCacheBytes: Int { self == .full ? 8 << 20 : 2 << 20 }

    /// The number of threads that wait for the disk. Disks do several things at once.
    var diskThreadCount: Int { self == .full ? 8 : 2 }

    /// The most bytes that the ballast takes.
    var ballastBytes: Int64 { self == .full ? 4 << 20 : 1 << 20 }
}
