import Primitives

/// A small body that is sent without entering the memory tier, with the metadata that an answer needs.
package struct PassingBody: Sendable {
    package let bytes: SharedBytes
    package let range: Range<Int>
    /// The first 16 bytes of the SHA-256 of the body.
    package let digestPrefix: [UInt8]
    package let contentType: String?
    package let lastModified: String?
    package let expiryDate: Timestamp
}

package enum PassingResult: Sendable {
    /// The hit is recorded.
    case body(PassingBody)
    /// Use ``DiskCache/load(_:expectingURL:mayWait:)`` instead.
    case none
    /// The slot is known, but the disk must be read, and the kernel has begun to. Call again on
    /// ``DiskCache/onDiskThread(_:)``.
    case onDisk
}

extension DiskCache {
    /// Reads a small body, fresh at `now`, from its slot with a single read and without the index, and records the hit.
    /// It works only while the memory tier is full and does not hold the entry, and while the slot is known.
    /// ``load(_:expectingURL:mayWait:)`` records the slot. An entry that is requested again after a short time also
    /// enters the memory tier. That needs the index, and this answer does not wait for it.
    package func passing(_ key: String, at now: Timestamp, mayWait: Bool = false) -> PassingResult {
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
            // Only a part of the slot was in memory. The rest of the record may be on a page that is not.
            return !mayWait && count < slot.slotClass.size ? .onDisk : .none
        }
        // The slot may have been freed since the look-up, and written again by a transaction that is not committed.
        guard parts.slotTable.isCurrent(ticket, for: hash) else { return .none }
        parts.memory.hasPassed(key, remembered: way == .past)
        if way == .pastAndIn { admit(key) }
        noteHit(of: key, version: version)
        return .body(body)
    }

    /// Brings an entry into the memory tier: at once if that needs no disk, otherwise on a disk thread unless all are
    /// busy. It does not count as a hit. An error is ignored, because the next request for the entry meets it again.
    private func admit(_ key: String) {
        guard case .onDisk? = try? bring(key, mayWait: false) else { return }
        diskThreads.runUnlessBusy { [weak self] in _ = try? self?.bring(key, mayWait: true) }
    }
}
