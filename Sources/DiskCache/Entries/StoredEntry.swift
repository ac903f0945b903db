import Primitives

/// An entry with its body.
public struct StoredEntry: Sendable {
    /// The metadata.
    public var entry: Entry
    /// The body.
    public var body: StoredBody
    /// The entry in the memory tier that this was found in; `nil` for one that was read from disk. Whoever makes an
    /// answer of this may keep it at hand: ``DiskCache/keepAtHand(_:bytes:onEnd:)``.
    public var hot: HotEntry.Mark?

    /// An entry and its body.
    public init(entry: Entry, body: StoredBody, hot: HotEntry.Mark? = nil) {
        self.entry = entry
        self.body = body
        self.hot = hot
    }
}

/// A body that can be sent: it stays readable as long as somebody holds it, whatever happens to the entry meanwhile.
public enum StoredBody: Sendable {
    /// All of it, in memory.
    case bytes(SharedBytes)
    /// An open file; it may have no name any more.
    case file(BodyFile)

    /// The length in bytes.
    public var length: Int64 {
        switch self {
        case .bytes(let bytes): Int64(bytes.count)
        case .file(let file): file.length
        }
    }

    /// A copy of a part of it. Throws ``DiskCacheError/fileSystem(operation:path:errno:)``, also when the file is
    /// shorter than the body.
    public func read(_ range: Range<Int64>) throws(DiskCacheError) -> SharedBytes {
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

/// What a look-up found.
public enum LoadResult: Sendable {
    /// The entry, fresh or stale, with its body.
    case hit(StoredEntry)
    /// There is no such entry.
    case absent
    /// There is an entry whose body is not as the index says (its file was touched, or worse) and must be hashed before
    /// a byte of it may be served: call ``DiskCache/verify(_:completion:)``, which takes as long as reading the body.
    case needsVerification
    /// The disk has to be read, and the caller may not wait for that: ask again on ``DiskCache/onDiskThread(_:)``.
    case onDisk
}
