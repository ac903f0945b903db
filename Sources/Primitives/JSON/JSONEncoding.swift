/// The encoding of a JSON text, detected from its first bytes. JSON between systems is UTF-8 (RFC 8259 §8.1). A byte
/// order mark, or zeros beside the first characters, which are ASCII (RFC 4627 §3), reveal another encoding.
package enum JSONEncoding: String, Hashable, Sendable {
    case utf8 = "UTF-8"
    case utf16 = "UTF-16"
    case utf32 = "UTF-32"

    /// The byte order mark that may precede a UTF-8 text; readers skip it.
    package static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]

    /// Detects the encoding.
    ///
    /// - Parameter beginning: the first four bytes, or all bytes of a shorter text; further bytes are ignored.
    package init(_ beginning: some Collection<UInt8>) {
        let bytes = Array(beginning.prefix(4))
        func begins(_ pattern: [UInt8?]) -> Bool {
            bytes.count >= pattern.count && zip(bytes, pattern).allSatisfy { $1 == nil ? $0 != 0 : $0 == $1 }
        }
        if begins([0xFF, 0xFE, 0, 0]) || begins([0, 0, 0xFE, 0xFF]) || begins([nil, 0, 0, 0]) || begins([0, 0, 0, nil])
        {
            self = .utf32
        } else if begins([0xFF, 0xFE]) || begins([0xFE, 0xFF]) || begins([nil, 0]) || begins([0, nil]) {
            self = .utf16
        } else {
            self = .utf8
        }
    }

    /// The reason why a text in this encoding is refused, as words that fit behind "the body is not JSON: "; `nil` for
    /// UTF-8.
    package var fault: String? {
        self == .utf8 ? nil : "the encoding is \(rawValue), but JSON must be UTF-8 (RFC 8259 §8.1)"
    }
}
