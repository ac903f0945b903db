import Primitives

/// The options of a namespace. Lengths and limits are in bytes.
package struct CacheConfiguration: Sendable {
    /// `[a-z0-9-]{1,63}`.
    package var namespace = "default"
    /// See ``NamespaceDirectory``.
    package var generation = 0
    /// Applies to new bodies. Bodies that exist already are read in any layout.
    package var layout = Layout.hashed
    /// The longest body that goes into the slab in the hashed layout. 0: every body is a file.
    package var inlineLimit: Int64 = 16 << 10
    /// Applies to a new index; an existing index keeps its size. Other sizes are for measurements only, because the
    /// cost of entries on disk is computed for the default.
    package var indexPageSize = 4096
    package var footprint = Footprint.full
    /// The number of pages after which the log of the index is written into its file.
    package var checkpointPages = 4000
    /// The limit for entries with their rows, until ``DiskCache/setDiskLimit(_:)`` changes it. The cache takes some
    /// disk space beyond this limit: up to 4 MiB for removals on a full disk; the free slots of extents that no new
    /// body of their size fills, less than 2 MiB for each slot size in use; and the log of the index, which starts anew
    /// at 16 MiB, but not within a transaction or a read; it is mostly below 32 MiB.
    package var diskLimit: Int64 = 10 << 30
    /// The part of the file system that stays free, regardless of ``diskLimit``. Entries are evicted when less is free.
    /// A store that would go below it is refused when no entry can be evicted.
    package var diskReserve = DiskReserve.percent(5)
    package var durability = Durability.process
    /// The longest body.
    package var entryLimit: Int64 = 1 << 30
    /// The limit of the memory tier, until ``DiskCache/setMemoryLimit(_:)`` changes it. 0 turns the tier off.
    package var memoryLimit: Int = 256 << 20
    /// Whether a body can be answered from the entry's record in the slab: the media type, `Last-Modified` and the
    /// digest are all that the answer says about the body. Called when an entry is read from the index; must not wait.
    package var isAnsweredByRecord: @Sendable (Entry) -> Bool = { $0.kind != .response }
    /// Whether an unreadable index is set aside, so that the cache starts empty. Otherwise opening the cache throws.
    package var setsAsideUnreadableIndex = true

    var place: NamespaceDirectory { NamespaceDirectory(namespace: namespace, generation: generation) }

    package init() {}
}
