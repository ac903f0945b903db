import Crypto

struct SlabRecordView {
    private let head: UnsafeRawBufferPointer
    /// The texts: key, Content-Type and Last-Modified, without separators.
    private let tail: UnsafeRawBufferPointer
    private let lengths: (key: Int, contentType: Int, lastModified: Int)

    /// `nil` when the bytes are no record or the record is damaged. The body is not checked. `tail` has all bytes
    /// behind the body. Both buffers must outlive this value.
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

    init?(_ slot: UnsafeRawBufferPointer) {
        guard let body = Self.body(in: slot) else { return nil }
        self.init(
            head: UnsafeRawBufferPointer(rebasing: slot[..<SlabRecord.headLength]),
            tail: UnsafeRawBufferPointer(rebasing: slot[body.upperBound...]))
    }

    /// The range of the body in a slot, by the length in the head. `nil` when that length is impossible.
    static func body(in slot: UnsafeRawBufferPointer) -> Range<Int>? {
        guard slot.count >= SlabRecord.headLength else { return nil }
        let length = Int(UInt32(littleEndian: slot.loadUnaligned(fromByteOffset: 32, as: UInt32.self)))
        guard length <= slot.count - SlabRecord.headLength else { return nil }
        return SlabRecord.headLength..<SlabRecord.headLength + length
    }

    var version: Int64 { Int64(littleEndian: head.loadUnaligned(fromByteOffset: 16, as: Int64.self)) }
    var expiry: Int64 { Int64(littleEndian: head.loadUnaligned(fromByteOffset: 24, as: Int64.self)) }
    var stored: Int64 {
        // The date has six bytes. The two bytes before them are a text length.
        Int64(littleEndian: head.loadUnaligned(fromByteOffset: 40, as: Int64.self)) >> 16
    }

    var digestPrefix: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: head[48...]) }

    func isDigest(of body: UnsafeRawBufferPointer) -> Bool {
        var hasher = SHA256()
        hasher.update(bufferPointer: body)
        return hasher.finalize().withUnsafeBytes {
            digestPrefix.hasSameBytes(as: UnsafeRawBufferPointer(rebasing: $0[..<SlabRecord.digestLength]))
        }
    }

    var key: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: tail[..<lengths.key]) }
    var contentType: String? { text(lengths.key, lengths.contentType) }
    var lastModified: String? { text(lengths.key + lengths.contentType, lengths.lastModified) }

    /// `false` after a change that only the index knows.
    func agrees(with entry: Entry) -> Bool {
        version == entry.version && expiry == entry.expiryDate.milliseconds && contentType == entry.contentType
            && lastModified == entry.lastModified && key.elementsEqual(entry.key.utf8)
            && digestPrefix.elementsEqual(entry.digest.prefix(SlabRecord.digestLength))
    }

    private func text(_ start: Int, _ length: Int) -> String? {
        length == 0 ? nil : String(decoding: tail[start..<start + length], as: UTF8.self)
    }
}
