import Primitives

package struct StoredEntry: Sendable {
    package var entry: Entry
    package var body: StoredBody
    /// The memory tier's record of the entry; `nil` for an entry that was read from disk. A caller that makes an answer
    /// from this entry may keep the answer at hand: ``DiskCache/keepAtHand(_:for:bytes:onEnd:)``.
    package var hot: HotEntry.Mark?

    package init(entry: Entry, body: StoredBody, hot: HotEntry.Mark? = nil) {
        self.entry = entry
        self.body = body
        self.hot = hot
    }
}

/// The result of a look-up.
package enum LoadResult: Sendable {
    /// The entry, fresh or stale, with its body.
    case hit(StoredEntry)
    case absent
    /// The entry exists, but its body is not as the index describes it, for example because its file was touched. The
    /// body must be hashed before any byte is served: call ``DiskCache/verify(_:completion:)``, which takes as long as
    /// reading the body.
    case needsVerification
    /// The look-up needs the disk, and the caller must not wait for the disk: repeat it on
    /// ``DiskCache/onDiskThread(_:)``.
    case onDisk
}
