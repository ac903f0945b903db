import Crypto

/// What the record in a slot says; see ``SlabRecord``.
struct SlabRecordView {
    private let head: UnsafeRawBufferPointer
    /// The texts.
    private let tail: UnsafeRawBufferPointer
    private let lengths: (key: Int, contentType: Int, lastModified: Int)

    /// Looks at a slot; `nil` when what is there is no record, or was damaged; but the body is not looked at.
    ///
    /// - Parameters:
    ///   - head: as many bytes as a head has.
    ///   - tail: what is behind the body, all that there is of it.
    ///   Both must outlive this value.
    init?(head: UnsafeRawBufferPointer, tail: UnsafeRawBufferPointer) {
        guard head.count == SlabRecord.headLength else { return nil }
        func length(at offset: Int) -> Int {
            Int(UInt16(littleEndian: head.loadUnaligned(fromByteOffset: offset, as: UInt16.self)))
        }
        lengths = (length(at: 36), length(at: 38), length(at: 40))
        let count = lengths.key + lengths.contentType + lengths.lastModified
        guard count <= tail.count else { return nil }
        self.head = head
        self.tail = UnsafeRawBufferPointer(rebasing: tail[..<count])
        var hasher = SHA256()
        hasher.update(bufferPointer: UnsafeRawBufferPointer(rebasing: head[SlabRecord.checkLength...]))
        hasher.update(bufferPointer: self.tail)
        let isWhole = hasher.finalize().withUnsafeBytes { digest in
            UnsafeRawBufferPointer(rebasing: digest[..<SlabRecord.checkLength])
                .hasSameBytes(as: UnsafeRawBufferPointer(rebasing: head[..<SlabRecord.checkLength]))
        }
        guard isWhole else { return nil }
    }

    /// The same of all that is in a slot.
    init?(_ slot: UnsafeRawBufferPointer) {
        guard let body = Self.body(in: slot) else { return nil }
        self.init(
            head: UnsafeRawBufferPointer(rebasing: slot[..<SlabRecord.headLength]),
            tail: UnsafeRawBufferPointer(rebasing: slot[body.upperBound...]))
    }

    /// Where in a slot the body is, if there is a record in it; `nil` when there is none.
    static func body(in slot: UnsafeRawBufferPointer) -> Range<Int>? {
        guard slot.count >= SlabRecord.headLength else { return nil }
        let length = Int(UInt32(littleEndian: slot.loadUnaligned(fromByteOffset: 32, as: UInt32.self)))
        guard length <= slot.count - SlabRecord.headLength else { return nil }
        return SlabRecord.headLength..<SlabRecord.headLength + length
    }

    /// The entry's version.
    var version: Int64 { Int64(littleEndian: head.loadUnaligned(fromByteOffset: 16, as: Int64.self)) }

    /// Its expiry, in milliseconds since 1970.
    var expiry: Int64 { Int64(littleEndian: head.loadUnaligned(fromByteOffset: 24, as: Int64.self)) }

    /// When the record was written, in milliseconds since 1970.
    var stored: Int64 {
        // Six bytes, and the two before them are a length's.
        Int64(littleEndian: head.loadUnaligned(fromByteOffset: 40, as: Int64.self)) >> 16
    }

    /// The beginning of the body's digest.
    var digestPrefix: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: head[48...]) }

    /// Whether this is the body that the digest is of.
    func isDigest(of body: UnsafeRawBufferPointer) -> Bool {
        var hasher = SHA256()
        hasher.update(bufferPointer: body)
        return hasher.finalize().withUnsafeBytes {
            digestPrefix.hasSameBytes(as: UnsafeRawBufferPointer(rebasing: $0[..<SlabRecord.digestLength]))
        }
    }

    /// The entry's key.
    var key: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: tail[..<lengths.key]) }

    /// Its Content-Type; `nil` when there is none.
    var contentType: String? { text(lengths.key, lengths.contentType) }

    /// Its Last-Modified, as the origin said it; `nil` when there is none.
    var lastModified: String? { text(lengths.key + lengths.contentType, lengths.lastModified) }

    /// Whether it says what the index does: not once something was changed that only the index knows.
    func agrees(with entry: Entry) -> Bool {
        version == entry.version && expiry == entry.expiryDate.milliseconds && contentType == entry.contentType
            && lastModified == entry.lastModified && key.elementsEqual(entry.key.utf8)
            && digestPrefix.elementsEqual(entry.digest.prefix(SlabRecord.digestLength))
    }

    private func text(_ start: Int, _ length: Int) -> String? {
        length == 0 ? nil : String(decoding: tail[start..<start + length], as: UTF8.self)
    }
}
