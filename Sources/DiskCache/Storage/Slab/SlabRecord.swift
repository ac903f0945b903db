import Crypto
import Primitives

/// A copy of an entry's metadata, stored around the body in a slot: a head of fixed length, then the body, then texts.
/// Numbers are little-endian, times in milliseconds since 1970.
///
/// | bytes | of the head |
/// |---|---|
/// | 0 ..< 16 | the first bytes of the SHA-256 of the rest of the head and of the texts |
/// | 16 ..< 24 | the version of the entry when the record was written |
/// | 24 ..< 32 | the expiry of the entry at that time |
/// | 32 ..< 36 | the length of the body |
/// | 36 ..< 38, 38 ..< 40, 40 ..< 42 | the lengths of the texts: key, Content-Type, Last-Modified |
/// | 42 ..< 48 | when the record was written |
/// | 48 ..< 64 | the first bytes of the SHA-256 of the body |
///
/// If record and index differ, the index is right. A reader that knows only the slot gets the entry from the record.
struct SlabRecord {
    /// The head and, directly behind it, the texts.
    let bytes: [UInt8]
    static let headLength = 64
    /// A Content-Type or Last-Modified of more bytes is left out; its length in the head is then 0.
    static let textLimit = 1024
    /// The bytes that a slab record keeps of each SHA-256.
    static let checkLength = 16, digestLength = 16

    /// Estimates the length of a slab record with its body, when only the length of the body is known.
    static func length(ofBody length: Int64) -> Int { headLength + Int(length) + 64 }

    init(of entry: Entry, at now: Timestamp) {
        let texts = Self.texts(of: entry)
        let length = Self.headLength + texts.reduce(0) { $0 + $1.utf8.count }
        bytes = [UInt8](unsafeUninitializedCapacity: length) { buffer, count in
            let record = UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[..<length])
            func store(_ number: some FixedWidthInteger, at offset: Int) {
                record.storeBytes(of: number.littleEndian, toByteOffset: offset, as: type(of: number))
            }
            store(entry.version, at: 16)
            store(entry.expiryDate.milliseconds, at: 24)
            // The date has six bytes. The store of the third text length below overwrites the two bytes before them.
            store(now.milliseconds << 16, at: 40)
            store(UInt32(clamping: entry.contentLength), at: 32)
            for (index, text) in texts.enumerated() { store(UInt16(text.utf8.count), at: 36 + 2 * index) }
            UnsafeMutableRawBufferPointer(rebasing: record[48..<Self.headLength])
                .copyBytes(from: entry.digest.prefix(Self.digestLength))
            var offset = Self.headLength
            for text in texts {
                UnsafeMutableRawBufferPointer(rebasing: record[offset...]).copyBytes(from: text.utf8)
                offset += text.utf8.count
            }
            let check = digest(of: UnsafeRawBufferPointer(rebasing: record[Self.checkLength...]))
            record.copyBytes(from: check.prefix(Self.checkLength))
            count = length
        }
    }

    /// Whether two entries with the same body have the same slab record.
    static func isSame(of entry: Entry, _ other: Entry) -> Bool {
        entry.version == other.version && entry.expiryDate == other.expiryDate && texts(of: entry) == texts(of: other)
    }

    private static func texts(of entry: Entry) -> [String] {
        [entry.key, bounded(entry.contentType), bounded(entry.lastModified)]
    }

    private static func bounded(_ text: String?) -> String {
        text.flatMap { $0.utf8.count <= textLimit ? $0 : nil } ?? ""
    }
}

struct SlabRecordView {
    private let head: UnsafeRawBufferPointer
    /// The texts: key, Content-Type and Last-Modified, without separators.
    private let tail: UnsafeRawBufferPointer
    private let lengths: (key: Int, contentType: Int, lastModified: Int)

    /// `nil` for bytes that are no sound slab record; the body is not checked. Both buffers must outlive this value.
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

    var key: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: tail[..<lengths.key]) }
    var contentType: String? { text(lengths.key, lengths.contentType) }
    var lastModified: String? { text(lengths.key + lengths.contentType, lengths.lastModified) }
    var digestPrefix: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: head[48...]) }

    func isDigest(of body: UnsafeRawBufferPointer) -> Bool {
        var hasher = SHA256()
        hasher.update(bufferPointer: body)
        return hasher.finalize().withUnsafeBytes {
            digestPrefix.hasSameBytes(as: UnsafeRawBufferPointer(rebasing: $0[..<SlabRecord.digestLength]))
        }
    }

    /// Whether the slab record and the entry agree; `false` after a change that only the index has.
    func agrees(with entry: Entry) -> Bool {
        version == entry.version && expiry == entry.expiryDate.milliseconds && contentType == entry.contentType
            && lastModified == entry.lastModified && key.elementsEqual(entry.key.utf8)
            && digestPrefix.elementsEqual(entry.digest.prefix(SlabRecord.digestLength))
    }

    private func text(_ start: Int, _ length: Int) -> String? {
        length == 0 ? nil : String(decoding: tail[start..<start + length], as: UTF8.self)
    }
}
