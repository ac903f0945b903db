/// Whether a namespace is still open, and what it takes of the disk, for who does not keep it open by that.
public struct CacheLife: Sendable {
    private weak let parts: CacheParts?

    init(_ parts: CacheParts) {
        self.parts = parts
    }

    /// Whether nobody uses it any more, and its files are closed.
    public var isOver: Bool { parts == nil }

    /// See ``DiskCache/takenDiskBytes``; `nil` when it is over.
    public var takenDiskBytes: Int64? { parts?.budget.taken.all }
}

extension DiskCache {
    /// The life of this object and of all that works for it.
    public var life: CacheLife { CacheLife(parts) }
}
