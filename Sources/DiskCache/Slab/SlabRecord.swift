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
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Self.headLength + 128)
        bytes.append(contentsOf: repeatElement(0, count: Self.checkLength))
        bytes.append(littleEndian: entry.version)
        bytes.append(littleEndian: entry.expiryDate.milliseconds)
        bytes.append(littleEndian: UInt32(clamping: entry.contentLength))
        for text in texts { bytes.append(littleEndian: UInt16(text.utf8.count)) }
        bytes.append(contentsOf: withUnsafeBytes(of: now.milliseconds.littleEndian) { Array($0.prefix(6)) })
        bytes.append(contentsOf: entry.digest.prefix(Self.digestLength))
        for text in texts { bytes.append(contentsOf: text.utf8) }
        let check = bytes.withUnsafeBytes { digest(of: UnsafeRawBufferPointer(rebasing: $0[Self.checkLength...])) }
        bytes.replaceSubrange(0..<Self.checkLength, with: check.prefix(Self.checkLength))
        self.bytes = bytes
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

extension [UInt8] {
    fileprivate mutating func append(littleEndian number: some FixedWidthInteger) {
        Swift.withUnsafeBytes(of: number.littleEndian) { append(contentsOf: $0) }
    }
}
