import Primitives

package struct StoredEntry: Sendable {
    package var entry: Entry
    package var body: StoredBody
    /// `nil` for an entry that was read from disk. A caller that makes an answer from this entry may keep the answer at
    /// hand: ``DiskCache/keepAtHand(_:for:bytes:onEnd:)``.
    package var hot: HotEntry.Mark?

    package init(entry: Entry, body: StoredBody, hot: HotEntry.Mark? = nil) {
        self.entry = entry
        self.body = body
        self.hot = hot
    }
}

package enum LoadResult: Sendable {
    /// Fresh or stale.
    case hit(StoredEntry)
    case absent
    /// The body is not as the index describes it, for example because its file was touched. It must be hashed before
    /// any byte is served: call ``DiskCache/verify(_:completion:)``, which takes as long as reading the body.
    case needsVerification
    /// The caller must not wait for the disk: repeat the look-up on ``DiskCache/onDiskThread(_:)``.
    case onDisk
}
