import Foundation

/// The resources that a namespace takes regardless of its entries.
package enum Footprint: Hashable, Sendable {
    /// For a million entries and many concurrent requests.
    case full
    /// For one of many, mostly small namespaces: about a quarter of the descriptors and threads, and less memory.
    case small

    /// Connections that look up entries without waiting for the disk: one for each serving thread.
    var lookupCount: Int {
        let threads = max(2, min(16, ProcessInfo.processInfo.activeProcessorCount))
        return self == .full ? threads : max(2, threads / 4)
    }

    /// The cache of all look-up connections together. With a million entries, the inner pages of the three trees take 5
    /// MiB. A page that is not cached here is copied out of the kernel's memory.
    var lookupCacheBytes: Int { self == .full ? max(12 << 20, lookupCount << 20) : 1 << 20 }
    var writerCacheBytes: Int { self == .full ? 8 << 20 : 2 << 20 }
    /// Threads that wait for the disk. Disks do several things at once.
    var diskThreadCount: Int { self == .full ? 8 : 2 }
    var ballastBytes: Int64 { self == .full ? 4 << 20 : 1 << 20 }
}
