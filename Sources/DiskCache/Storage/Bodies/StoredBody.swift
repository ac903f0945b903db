import Primitives

/// A body that can be sent. It stays readable while a reference exists, even when the entry is changed or removed.
package enum StoredBody: Sendable {
    case bytes(SharedBytes)
    /// Its name may have been removed.
    case file(BodyFile)

    package var length: Int64 {
        switch self {
        case .bytes(let bytes): Int64(bytes.count)
        case .file(let file): file.length
        }
    }

    /// Copies a part of the body. Throws also when the file is shorter than the body.
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

    package func bytes() throws(DiskCacheError) -> SharedBytes {
        switch self {
        case .bytes(let bytes): bytes
        case .file(let file): try file.readWhole()
        }
    }
}

extension BodyFile {
    /// The body to hand out. A short body is read whole.
    func stored(upTo limit: Int64) throws(DiskCacheError) -> StoredBody {
        if length <= limit { return .bytes(try readWhole()) }
        // The sender finds the beginning in memory. The rest is read ahead of the sender.
        _ = try read(0..<min(length, Self.readAhead))
        return .file(self)
    }

    /// `nil` when the disk must be read.
    func cached(upTo limit: Int64) -> StoredBody? {
        if length <= limit { return readCached(0..<length).map { .bytes($0) } }
        // The kernel reads large blocks. If the bytes at these places are in memory, so are the bytes between them.
        let places = stride(from: 0, to: min(length, Self.readAhead), by: 64 << 10)
        return places.allSatisfy { readCached($0..<$0 + 1) != nil } ? .file(self) : nil
    }

    /// The part of a long body that is read before its first byte is sent.
    private static let readAhead: Int64 = 256 << 10
}
