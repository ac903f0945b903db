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
    /// See ``Entry/expiryDate``.
    public let expiryDate: Timestamp
}

/// What ``DiskCache/passing(_:at:mayWait:)`` finds.
public enum PassingResult: Sendable {
    /// It, and the hit is recorded.
    case body(PassingBody)
    /// It cannot be done, for whatever reason: ``DiskCache/load(_:expectingURL:mayWait:)`` can.
    case none
    /// It is known where to read, but the disk has to be waited for, and the caller may not: ask again on
    /// ``DiskCache/onDiskThread(_:)``. The kernel has begun to read.
    case onDisk
}

extension DiskCache {
    /// A small body that is fresh, read from where it lies by one read and no look-up in the index: when it is not in
    /// the memory tier, which is full, and as long as it is known where it lies, which
    /// ``load(_:expectingURL:mayWait:)`` finds out. The hit is recorded.
    ///
    /// What is asked for a second time before long comes into the memory tier, too. That needs the index, and this
    /// answer does not wait for it.
    ///
    /// - Parameters:
    ///   - key: of the entry.
    ///   - now: decides what is fresh.
    ///   - mayWait: whether this thread may wait for the disk.
    public func passing(_ key: String, at now: Timestamp, mayWait: Bool = false) -> PassingResult {
        let hash = ExactText(key).hashValue
        guard let (slot, ticket) = parts.slotTable.find(hash) else { return .none }
        let way = parts.memory.way(of: key, cost: slot.slotClass.size)
        guard way != .in else { return .none }
        guard let (bytes, count) = parts.slab.content(of: slot, mayWait: mayWait) else {
            return mayWait ? .none : .onDisk
        }
        let content = UnsafeRawBufferPointer(rebasing: bytes.bytes[..<count])
        let found = withExtendedLifetime(bytes) { () -> (PassingBody, version: Int64)? in
            guard let range = SlabRecordView.body(in: content), let record = SlabRecordView(content),
                record.key.elementsEqual(key.utf8), record.expiry > now.milliseconds, record.stored <= now.milliseconds
            else { return nil }
            guard record.isDigest(of: UnsafeRawBufferPointer(rebasing: content[range])) else { return nil }
            let body = PassingBody(
                bytes: bytes, range: range, digestPrefix: Array(record.digestPrefix), contentType: record.contentType,
                lastModified: record.lastModified, expiryDate: Timestamp(milliseconds: record.expiry))
            return (body, record.version)
        }
        guard let (body, version) = found else {
            // Its end may be on another page than its beginning.
            return !mayWait && count < slot.slotClass.size ? .onDisk : .none
        }
        // What was read may have been written meanwhile by something that is not committed.
        guard parts.slotTable.isCurrent(ticket, for: hash) else { return .none }
        parts.memory.hasPassed(key, remembered: way == .past)
        if way == .pastAndIn { admit(key) }
        note(PendingAccess(version: version, hits: 1, lastAccess: parts.accessClock.now()), for: key)
        return .body(body)
    }

    /// Has something come into the memory tier, if nothing is in the way of that: else whoever asks next will find out
    /// what it is. It is no hit, and nobody waits for it.
    private func admit(_ key: String) {
        guard case .onDisk? = try? bring(key, mayWait: false) else { return }
        diskThreads.runUnlessBusy { [weak self] in _ = try? self?.bring(key, mayWait: true) }
    }
}
