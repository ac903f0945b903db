/// The charset that a Content-Type declares for JSON, which is exchanged in UTF-8 (RFC 8259 §8.1).
///
///     JSONCharset(contentType: "application/json; charset=iso-8859-1").fault(isASCII: false)
public enum JSONCharset: Hashable, Sendable {
    /// UTF-8, or none declared.
    case utf8
    /// Another one, in which ASCII has the bytes that it has in UTF-8; its name in lower case.
    case extendsASCII(String)
    /// Any other, UTF-16 and unknown names among them; its name in lower case.
    case other(String)

    private static let namesOfUTF8: Set<String> = ["", "utf-8", "utf8"]
    private static let namesOfASCII: Set<String> = ["us-ascii", "ascii", "ansi_x3.4-1968", "iso646-us", "latin1"]

    /// - Parameter contentType: the field's value; `nil`: there is none. Of several charsets the first that is not
    ///   UTF-8 counts.
    public init(contentType: String?) {
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

    /// Why a text that is declared so is not read, in words that fit behind "the body is not JSON: "; `nil` when its
    /// bytes are UTF-8.
    ///
    /// - Parameter isASCII: whether no byte of the text is above 0x7F.
    public func fault(isASCII: Bool) -> String? {
        switch self {
        case .utf8: nil
        case .extendsASCII where isASCII: nil
        case .extendsASCII(let name), .other(let name):
            "its charset is declared as \"\(name)\", and JSON is exchanged in UTF-8 (RFC 8259 §8.1)"
        }
    }
}
