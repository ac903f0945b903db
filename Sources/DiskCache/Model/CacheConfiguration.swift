import Foundation

/// The options of a namespace. Lengths and limits are in bytes.
package struct CacheConfiguration: Sendable {
    /// `[a-z0-9-]{1,63}`.
    package var namespace = "default"
    package var generation = 0
    /// Applies to new bodies. Bodies that exist already are read in any layout.
    package var layout = Layout.hashed
    /// The longest body that goes into the slab in the hashed layout. 0: every body is a file.
    package var inlineLimit: Int64 = 16 << 10
    /// Applies to a new index. Other sizes are for measurements only: the cost of entries assumes the default.
    package var indexPageSize = 4096
    package var footprint = Footprint.full
    /// The number of pages after which the log of the index is written into the database file.
    package var checkpointPages = 4000
    /// The limit for entries with their rows, until ``DiskCache/setDiskLimit(_:)``. In addition, the cache takes up to
    /// 4 MiB for removals on a full disk, less than 2 MiB of free slots for each slot size in use, and the log of the
    /// index. The log starts anew at 16 MiB, but not within a transaction or a read; it is mostly below 32 MiB.
    package var diskLimit: Int64 = 10 << 30
    /// The part of the file system that stays free. If it is not free, entries are evicted, or else stores are refused.
    package var diskReserve = DiskReserve.percent(5)
    package var durability = Durability.process
    package var entryLimit: Int64 = 1 << 30
    /// The limit of the memory tier, until ``DiskCache/setMemoryLimit(_:)`` changes it. 0 turns the tier off.
    package var memoryLimit: Int = 256 << 20
    /// Whether the ``SlabRecord`` of an entry is enough for an answer, because the answer needs no metadata except the
    /// media type, `Last-Modified` and the digest. Called when an entry is read from the index; must not wait.
    package var isAnsweredByRecord: @Sendable (Entry) -> Bool = { $0.kind != .response }
    /// Whether an unreadable index is set aside, so that the cache starts empty. Otherwise opening the cache throws.
    package var setsAsideUnreadableIndex = true
    var place: NamespaceDirectory { NamespaceDirectory(namespace: namespace, generation: generation) }

    package init() {}
}

/// The form of bodies on disk. The index stores the path of each body, so bodies of both layouts can be read in either.
package enum Layout: String, Hashable, Sendable, CaseIterable {
    /// Small bodies in the slab, larger bodies as files `ab/cd/<md5>`: two levels of 256 directories.
    case hashed
    /// Every body is a file in a tree that mirrors the URL; see ``ReadablePath``.
    case readable
}

/// The failures that an acknowledged change survives.
package enum Durability: String, CaseIterable, Sendable {
    /// The kernel has the change, so it survives `kill -9`. A power cut may undo the changes of the last seconds.
    case process
    /// The change is on the disk before it is acknowledged: it survives a power cut.
    case power
}

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

    /// The page caches of all look-up connections together. With a million entries, the inner pages that look-ups read
    /// take 5 MiB. A page that is not in these caches is copied out of the kernel's memory.
    var lookupCacheBytes: Int { self == .full ? max(12 << 20, lookupCount << 20) : 1 << 20 }
    var writerCacheBytes: Int { self == .full ? 8 << 20 : 2 << 20 }
    /// Threads that wait for the disk. A disk serves several requests at once.
    var diskThreadCount: Int { self == .full ? 8 : 2 }
    var ballastBytes: Int64 { self == .full ? 4 << 20 : 1 << 20 }
}

/// The part of the file system that is left to other programs.
package enum DiskReserve: Hashable, Sendable {
    case percent(Double)
    /// 0: no reserve.
    case bytes(Int64)

    func floor(ofSize size: Int64) -> Int64 {
        switch self {
        case .percent(let percent): Int64(Double(size) * percent / 100)
        case .bytes(let bytes): bytes
        }
    }
}

/// The directory of a namespace, named after it. To empty the namespace, a new directory with a new number behind the
/// name, such as `name.7`, replaces the old one, even when that is large or still in use.
package struct NamespaceDirectory: Hashable, Sendable {
    package let namespace: String
    /// 0: no number in the name.
    package let generation: Int
    package var name: String { generation == 0 ? namespace : "\(namespace).\(generation)" }

    package init(namespace: String, generation: Int = 0) {
        self.namespace = namespace
        self.generation = generation
    }
}
