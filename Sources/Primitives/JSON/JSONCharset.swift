/// The charset that a Content-Type declares for JSON, which is exchanged in UTF-8 (RFC 8259 §8.1).
///
///     JSONCharset(contentType: "application/json; charset=iso-8859-1").fault(isASCII: false)
package enum JSONCharset: Hashable, Sendable {
    /// UTF-8, or no declared charset.
    case utf8
    /// A charset other than UTF-8 in which ASCII text has the same bytes as in UTF-8. The value is its name in lower
    /// case.
    case extendsASCII(String)
    /// Any other charset, such as UTF-16, or an unknown name. The value is the name in lower case.
    case other(String)

    private static let namesOfUTF8: Set<String> = ["", "utf-8", "utf8"]
    private static let namesOfASCII: Set<String> = ["us-ascii", "ascii", "ansi_x3.4-1968", "iso646-us", "latin1"]

    /// Reads the charset of a Content-Type. Of several charsets, the first that is not UTF-8 counts.
    ///
    /// - Parameter contentType: the value of the field; `nil` if the field is missing.
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

    /// Returns the reason why a text with this charset is refused, as words that fit behind "the body is not JSON: ";
    /// `nil` when the bytes of the text are UTF-8.
    ///
    /// - Parameter isASCII: whether no byte of the text is above 0x7F.
    package func fault(isASCII: Bool) -> String? {
        switch self {
        case .utf8: nil
        case .extendsASCII where isASCII: nil
        case .extendsASCII(let name), .other(let name):
            "the declared charset is \"\(name)\", but JSON must be UTF-8 (RFC 8259 §8.1)"
        }
    }
}
