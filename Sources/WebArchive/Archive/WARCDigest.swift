import Primitives

/// The value of a digest field of a record (WARC 1.1 §5.8 and §5.9), with an algorithm that Larder can compute.
package struct WARCDigest: Hashable, Sendable {
    package enum Algorithm: String, Hashable, Sendable, CaseIterable {
        case sha1, sha256

        /// The bytes of a digest.
        var length: Int { self == .sha1 ? 20 : 32 }
    }

    package let algorithm: Algorithm
    /// Empty if the field has no digest of the algorithm's length. Such a digest fits no body.
    package let bytes: [UInt8]

    package init(_ algorithm: Algorithm, _ bytes: [UInt8]) {
        self.algorithm = algorithm
        self.bytes = bytes
    }

    /// Reads `sha1:TEXT`, where the text is in hexadecimal or in base32 (RFC 4648 §6), with or without padding. `nil`
    /// for another algorithm, because readers ignore its digests.
    package init?(_ text: String) {
        guard let colon = text.firstIndex(of: ":"),
            let algorithm = Algorithm(rawValue: text[..<colon].lowercased().replacing("-", with: ""))
        else { return nil }
        let value = String(text[text.index(after: colon)...])
        let bytes = [UInt8](hex: value).flatMap { $0.count == algorithm.length ? $0 : nil } ?? Self.base32(value)
        self.init(algorithm, bytes.count == algorithm.length ? bytes : [])
    }

    /// Returns no byte for a text that is not base32.
    private static func base32(_ text: String) -> [UInt8] {
        var bytes: [UInt8] = []
        var (buffer, count) = (UInt32(0), 0)
        for character in text.utf8.prefix(64) where character != UInt8(ascii: "=") {
            let value: UInt8
            switch character {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): value = character - UInt8(ascii: "A")
            case UInt8(ascii: "a")...UInt8(ascii: "z"): value = character - UInt8(ascii: "a")
            case UInt8(ascii: "2")...UInt8(ascii: "7"): value = character - UInt8(ascii: "2") + 26
            default: return []
            }
            buffer = (buffer << 5 | UInt32(value)) & 0xfff
            count += 5
            if count >= 8 {
                count -= 8
                bytes.append(UInt8(truncatingIfNeeded: buffer >> UInt32(count)))
            }
        }
        return bytes
    }
}
