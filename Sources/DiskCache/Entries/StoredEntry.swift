import Primitives

/// An entry with its body.
package struct StoredEntry: Sendable {
    /// The metadata.
    package var entry: Entry
    /// The body.
    package var body: StoredBody
    /// The memory tier's record of the entry; `nil` for an entry that was read from disk. A caller that makes an answer
    /// from this entry may keep the answer at hand: ``DiskCache/keepAtHand(_:for:bytes:onEnd:)``.
    package var hot: HotEntry.Mark?

    /// Creates an entry with its body.
    package init(entry: Entry, body: StoredBody, hot: HotEntry.Mark? = nil) {
        self.entry = entry
        self.body = body
        self.hot = hot
    }
}

/// A body that can be sent. The body stays readable while a reference exists, even when the entry is changed or removed
/// meanwhile.
package enum StoredBody: Sendable {
    /// The whole body, in memory.
    case bytes(SharedBytes)
    /// An open file. Its name may have been removed.
    case file(BodyFile)

    /// The length in bytes.
    package var length: Int64 {
        switch self {
        case .bytes(let bytes): Int64(bytes.count)
        case .file(let file): file.length
        }
    }

    /// Returns a copy of a part of the body. Throws ``DiskCacheError/fileSystem(operation:path:errno:)``, also when the
    /// file is shorter than the body.
    package func read(_ range: Range<Int64>) throws(DiskCacheError) -> SharedBytes {
        switch self {
        case .bytes(let bytes):
            return bytes.withUnsafeBytes { bytes in
                let part = bytes[Int(range.lowerBound)..<Int(range.upperBound)]
                return SharedBytes(copying: UnsafeRawBufferPointer(rebasing: part))
            }
        case .file(let file):
            return try file.read(range)
        }
    }
}

/// The result of a look-up.
package enum LoadResult: Sendable {
    /// The entry, fresh or stale, with its body.
    case hit(StoredEntry)
    /// The cache has no such entry.
    case absent
    /// The entry exists, but its body is not as the index describes it, for example because its file was touched. The
    /// body must be hashed before any byte is served: call ``DiskCache/verify(_:completion:)``, which takes as long as
    /// reading the body.
    case needsVerification
    /// The look-up needs the disk, and the caller must not wait for the disk: repeat it on
    /// ``DiskCache/onDiskThread(_:)``.
    case onDisk
}
