/// Tells whether a namespace is still open, and how much disk space it takes, without keeping it open.
package struct CacheLife: Sendable {
    private weak let parts: CacheParts?

    init(_ parts: CacheParts) {
        self.parts = parts
    }

    /// The namespace has no user any more, and its files are closed.
    package var isOver: Bool { parts == nil }
    /// See ``DiskCache/takenDiskBytes``; `nil` when ``isOver``.
    package var takenDiskBytes: Int64? { parts?.budget.taken.all }
}

extension DiskCache {
    /// The life of this cache and of all objects that work for it.
    package var life: CacheLife { CacheLife(parts) }
}
