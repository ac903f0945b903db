import Primitives

/// What stands in a slot: a head of fixed length, the body, and texts behind it. Numbers are little-endian.
///
/// | bytes | of the head |
/// |---|---|
/// | 0 ..< 16 | the beginning of the SHA-256 of the rest of the head and of the texts |
/// | 16 ..< 24 | the entry's version when it was written |
/// | 24 ..< 32 | its expiry then, in milliseconds since 1970 |
/// | 32 ..< 36 | the length of the body |
/// | 36 ..< 38, 38 ..< 40, 40 ..< 42 | the lengths of the texts: key, Content-Type, Last-Modified |
/// | 42 ..< 48 | when it was stored or last changed, in milliseconds since 1970 |
/// | 48 ..< 64 | the beginning of the SHA-256 of the body |
///
/// The index is the truth about all of it; the record says whose body it is to those who come by its place alone.
struct SlabRecord {
    /// The head, and behind it the texts.
    let bytes: [UInt8]

    /// How long a head is.
    static let headLength = 64
    /// Texts longer than this, in bytes, are left out, and so is what says that they are there.
    static let textLimit = 1024
    /// How many bytes of digests there are.
    static let checkLength = 16, digestLength = 16

    /// How many bytes the record of an entry has.
    static func length(of entry: Entry) -> Int {
        headLength + Int(entry.contentLength) + texts(of: entry).reduce(0) { $0 + $1.utf8.count }
    }

    /// About how many it will have, when only that much is known of the entry.
    static func length(ofBody length: Int64) -> Int { headLength + Int(length) + 64 }

    /// The record of an entry, without its body.
    ///
    /// - Parameter now: when it is written.
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
            // Six bytes; of the two before them the length that is stored after this takes the place.
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
            record.copyBytes(
                from: digest(of: UnsafeRawBufferPointer(rebasing: record[Self.checkLength...]))
                    .prefix(Self.checkLength))
            count = length
        }
    }

    /// Whether the records of two entries with the same body are the same.
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
