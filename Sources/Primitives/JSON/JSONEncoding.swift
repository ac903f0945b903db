/// The encoding of a JSON text, detected from its first bytes. JSON between systems is UTF-8 (RFC 8259 §8.1). A byte
/// order mark, or zeros beside the first characters, which are ASCII (RFC 4627 §3), reveal another encoding.
package enum JSONEncoding: String, Hashable, Sendable {
    case utf8 = "UTF-8"
    case utf16 = "UTF-16"
    case utf32 = "UTF-32"

    /// The byte order mark that may precede a UTF-8 text; readers skip it.
    package static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]

    /// Reads the first four bytes, or all bytes of a shorter text.
    package init(_ beginning: some Collection<UInt8>) {
        let bytes = Array(beginning.prefix(4))
        let match = Self.patterns.first { pattern, _ in
            bytes.count >= pattern.count && zip(bytes, pattern).allSatisfy { $1 == nil ? $0 != 0 : $0 == $1 }
        }
        self = match?.encoding ?? .utf8
    }

    /// The first bytes of texts in other encodings; `nil` is any byte but zero.
    private static let patterns: [(bytes: [UInt8?], encoding: JSONEncoding)] = [
        ([0xFF, 0xFE, 0, 0], .utf32), ([0, 0, 0xFE, 0xFF], .utf32), ([nil, 0, 0, 0], .utf32),
        ([0, 0, 0, nil], .utf32), ([0xFF, 0xFE], .utf16), ([0xFE, 0xFF], .utf16), ([nil, 0], .utf16),
        ([0, nil], .utf16),
    ]

    /// The reason for a refusal, as words that fit behind "the body is not JSON: "; `nil` for UTF-8.
    package var fault: String? {
        self == .utf8 ? nil : "the encoding is \(rawValue), but JSON must be UTF-8 (RFC 8259 §8.1)"
    }
}

/// The charset that a Content-Type declares for JSON, as in `application/json; charset=iso-8859-1`.
package enum JSONCharset: Hashable, Sendable {
    /// UTF-8, or no declared charset.
    case utf8
    /// A charset other than UTF-8 in which ASCII text has the same bytes as in UTF-8; its name in lower case.
    case extendsASCII(String)
    /// Any other charset, such as UTF-16, or an unknown name, in lower case.
    case other(String)

    private static let namesOfUTF8: Set<String> = ["", "utf-8", "utf8"]
    private static let namesOfASCII: Set<String> = ["us-ascii", "ascii", "ansi_x3.4-1968", "iso646-us", "latin1"]

    /// Of several charsets, the first that is not UTF-8 counts. `nil` means that the field is missing.
    package init(contentType: String?) {
        let names = ContentDisposition.parameters(of: contentType ?? "")
            .filter { $0.name == "charset" }
            .map { String(decoding: $0.value, as: UTF8.self).lowercased() }
        guard let name = names.first(where: { !Self.namesOfUTF8.contains($0) }) else {
            self = .utf8
            return
        }
        let extendsASCII =
            Self.namesOfASCII.contains(name) || name.hasPrefix("iso-8859-") || name.hasPrefix("windows-125")
        self = extendsASCII ? .extendsASCII(name) : .other(name)
    }

    /// Like ``JSONEncoding/fault``, for a text with this charset. `isASCII`: no byte of the text is above 0x7F.
    package func fault(isASCII: Bool) -> String? {
        switch self {
        case .utf8: nil
        case .extendsASCII where isASCII: nil
        case .extendsASCII(let name), .other(let name):
            "the declared charset is \"\(name)\", but JSON must be UTF-8 (RFC 8259 §8.1)"
        }
    }
}
