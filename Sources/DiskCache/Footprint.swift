import Foundation

extension DiskCache {
    /// What a namespace takes for itself, whatever is in it.
    public enum Footprint: Hashable, Sendable {
        /// For a million entries and whoever asks for them at once.
        case full
        /// For one of many, most of which are small: a quarter of the descriptors and threads, and of the memory.
        case small
    }
}

extension DiskCache.Footprint {
    /// How many connections look up what is in memory: as many as there are threads that serve, then none waits for
    /// another.
    var lookupCount: Int {
        let threads = max(2, min(16, ProcessInfo.processInfo.activeProcessorCount))
        return self == .full ? threads : max(2, threads / 4)
    }

    /// For all of these, in bytes: with a million entries what is above the leaves of the three trees takes 5 MiB, and
    /// what is not here is a copy out of the kernel's memory.
    var lookupCacheBytes: Int { self == .full ? max(12 << 20, lookupCount << 20) : 1 << 20 }

    /// What the writer's connection keeps in memory, in bytes.
    var writerCacheBytes: Int { self == .full ? 8 << 20 : 2 << 20 }

    /// How many threads wait for the disk: disks do several things at once.
    var diskThreadCount: Int { self == .full ? 8 : 2 }

    /// The most bytes that the ballast takes.
    var ballastBytes: Int64 { self == .full ? 4 << 20 : 1 << 20 }
}
