import Primitives

/// How bodies are kept.
extension DiskCache {
    /// What a namespace is opened with.
    public struct Configuration: Sendable {
        /// The namespace, `[a-z0-9-]{1,63}`.
        public var namespace = "default"
        /// Which of its directories; see ``NamespaceDirectory``.
        public var generation = 0
        /// How new bodies are kept; what is there already is read whatever layout it was written with.
        public var layout = Layout.hashed
        /// The longest body, in bytes, that is kept in the slab in the hashed layout; 0: every body is a file.
        public var inlineLimit: Int64 = 16 << 10
        /// The size of the pages of a new index, in bytes; one that is there keeps its own. Others than the default are
        /// for measuring: what entries cost on disk is counted for it.
        package var indexPageSize = 4096
        /// How many descriptors, threads and bytes of memory it takes beside its entries.
        public var footprint = Footprint.full
        /// After how many pages the index's log is written into its file.
        package var checkpointPages = 4000
        /// The most bytes that entries may take on disk, with their rows, until
        /// ``DiskCache/setDiskLimit(_:completion:)`` says otherwise. On top of it come the index's log, 4 MiB that are
        /// kept for removing something when the disk is full, and what an extent has of free slots that nothing of
        /// their size fills: less than 2 MiB for each size of slot that is in use. The log is begun anew once it has
        /// 16 MiB, but neither within a transaction nor while somebody still reads from it: mostly it stays below
        /// 32 MiB.
        public var diskLimit: Int64 = 10 << 30
        /// How much of the file system stays free, whatever ``diskLimit`` says: entries go when there is less, and what
        /// would go below it is refused when nothing can go.
        public var diskReserve = DiskReserve.percent(5)
        /// What is waited for before anything is acknowledged.
        public var durability = Durability.process
        /// The longest body, in bytes.
        public var entryLimit: Int64 = 1 << 30
        /// The most bytes that the memory tier may take, until ``DiskCache/setMemoryLimit(_:)`` says otherwise; 0 turns
        /// it off.
        public var memoryLimit: Int = 256 << 20
        /// For how long an entry stays fresh when nobody says.
        public var defaultTTL: Duration = .seconds(604_800)
        /// Whether the media type and `Last-Modified` are all that an answer with an entry's body says beside its
        /// digest, so that the record in the slab is enough to make one. It is asked when an entry is read from the
        /// index, and must not wait. Default: all but responses.
        public var isAnsweredByRecord: @Sendable (Entry) -> Bool = { $0.kind != .response }
        /// Whether an index that cannot be read is set aside and the cache starts empty; otherwise opening it throws.
        public var setsAsideUnreadableIndex = true

        /// Where the entries are, in a cache directory.
        var place: NamespaceDirectory { NamespaceDirectory(namespace: namespace, generation: generation) }

        /// The defaults.
        public init() {}
    }
}
