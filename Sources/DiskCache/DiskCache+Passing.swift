import Primitives

/// A small body on its way past the memory tier, with what an answer says of it.
public struct PassingBody: Sendable {
    /// Holds the body among other bytes.
    public let bytes: SharedBytes
    /// Where the body is in them.
    public let range: Range<Int>
    /// The beginning of the body's SHA-256, 16 bytes.
    public let digestPrefix: [UInt8]
    /// See ``Entry/contentType``.
    public let contentType: String?
    /// See ``Entry/lastModified``.
    public let lastModified: String?
}

extension DiskCache {
    /// A small body that is fresh, read from where it lies by one read and no look-up in the index: when a full memory
    /// tier would not keep it, and as long as it is known where it lies, which ``load(_:expectingURL:mayWait:)`` finds
    /// out. The hit is recorded. Never waits for the disk.
    ///
    /// What is asked for a second time before long is left to `load`, and so comes into the memory tier.
    ///
    /// - Parameters:
    ///   - key: of the entry, as its bytes.
    ///   - now: decides what is fresh.
    /// - Returns: `nil` when that cannot be done, for whatever reason.
    public func passing(_ key: UnsafeRawBufferPointer, at now: Timestamp) -> PassingBody? {
        let key = String(decoding: key, as: UTF8.self)
        let hash = ExactText(key).hashValue
        guard let (slot, ticket) = parts.slotTable.find(hash), parts.memory.letsPass(key),
            let (bytes, count) = parts.slab.cachedContent(of: slot)
        else { return nil }
        let content = UnsafeRawBufferPointer(rebasing: bytes.bytes[..<count])
        let found = withExtendedLifetime(bytes) { () -> (PassingBody, version: Int64)? in
            guard let range = SlabRecordView.body(in: content), let record = SlabRecordView(content),
                record.key.elementsEqual(key.utf8), record.expiry > now.milliseconds, record.stored <= now.milliseconds
            else { return nil }
            let digest = digest(of: UnsafeRawBufferPointer(rebasing: content[range])).prefix(SlabRecord.digestLength)
            guard record.digestPrefix.elementsEqual(digest) else { return nil }
            let body = PassingBody(
                bytes: bytes, range: range, digestPrefix: Array(digest), contentType: record.contentType,
                lastModified: record.lastModified)
            return (body, record.version)
        }
        // What was read may have been written meanwhile by something that is not committed.
        guard let (body, version) = found, parts.slotTable.isCurrent(ticket, for: hash) else { return nil }
        parts.memory.hasPassed(key)
        note(PendingAccess(version: version, hits: 1, lastAccess: parts.accessClock.now()), for: key)
        return body
    }
}
