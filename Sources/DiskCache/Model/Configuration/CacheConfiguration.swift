import Primitives

/// The options with which a namespace is opened.
package struct CacheConfiguration: Sendable {
    /// The namespace, `[a-z0-9-]{1,63}`.
    package var namespace = "default"
    /// The generation of its directory; see ``NamespaceDirectory``. Default: 0.
    package var generation = 0
    /// The layout of new bodies. Bodies that exist already are read in any layout.
    package var layout = Layout.hashed
    /// The longest body, in bytes, that goes into the slab in the hashed layout. 0: every body is a file. Default: 16
    /// KiB.
    package var inlineLimit: Int64 = 16 << 10
    /// The page size of a new index, in bytes. An existing index keeps its page size. Other sizes than the default are
    /// for measurements only, because the cost of entries on disk is computed for the default.
    package var indexPageSize = 4096
    /// The descriptors, threads and bytes of memory that the namespace takes beside its entries.
    package var footprint = Footprint.full
    /// The number of pages after which the log of the index is written into its file.
    package var checkpointPages = 4000
    /// The most bytes that entries with their rows may take on disk, until ``DiskCache/setDiskLimit(_:)`` changes it.
    /// Default: 10 GiB.
    ///
    /// The cache takes some disk space beyond this limit: the log of the index; up to 4 MiB that are kept for removals
    /// on a full disk; and the free slots of extents that no new body of their size fills, which is less than 2 MiB for
    /// each slot size in use. The log starts anew at 16 MiB, but neither within a transaction nor while a reader still
    /// uses it. It mostly stays below 32 MiB.
    package var diskLimit: Int64 = 10 << 30
    /// The part of the file system that stays free, regardless of ``diskLimit``. Entries are evicted when less is free.
    /// A store that would go below it is refused when no entry can be evicted. Default: 5 percent.
    package var diskReserve = DiskReserve.percent(5)
    /// The kind of failure that an acknowledged change survives.
    package var durability = Durability.process
    /// The longest body, in bytes. Default: 1 GiB.
    package var entryLimit: Int64 = 1 << 30
    /// The most bytes that the memory tier may take, until ``DiskCache/setMemoryLimit(_:)`` changes it. 0 turns the
    /// memory tier off. Default: 256 MiB.
    package var memoryLimit: Int = 256 << 20
    /// Whether an answer with the body of an entry can be made of its record in the slab. That is so when the media
    /// type, `Last-Modified` and the digest are all that the answer says about the body. It is called when an entry is
    /// read from the index, and must not wait. Default: `true` for all kinds but responses.
    package var isAnsweredByRecord: @Sendable (Entry) -> Bool = { $0.kind != .response }
    /// Whether an unreadable index is set aside, so that the cache starts empty. Otherwise opening the cache throws.
    package var setsAsideUnreadableIndex = true

    /// The directory of the entries, in a cache directory.
    var place: NamespaceDirectory { NamespaceDirectory(namespace: namespace, generation: generation) }

    package init() {}
}
