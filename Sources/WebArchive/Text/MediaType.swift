import Primitives

/// The media types that a browser may take a Content-Type for. Browsers read the field leniently: they end a type at a
/// space or a parenthesis, and use one of several types in a list. So a body is HTML if any reading says so.
package struct MediaType: Hashable, Sendable {
    /// In lower case, without parameters. Empty for a field without a valid type.
    package let candidates: [String]

    package init(_ contentType: String?) {
        candidates = (contentType ?? "").utf8.split(separator: UInt8(ascii: ",")).compactMap { part in
            let bytes = part.drop { $0 <= 0x20 }
                .prefix { $0 > 0x20 && $0 != UInt8(ascii: ";") && $0 != UInt8(ascii: "(") }
            let text = String(decoding: Array(bytes), as: UTF8.self).lowercased()
            let parts = text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
            let isValid = parts.count == 2 && parts.allSatisfy { !$0.isEmpty && $0.allSatisfy(\.isTokenByte) }
            return isValid ? text : nil
        }
    }

    package var isHTML: Bool { candidates.contains("text/html") }

    /// XML in the sense of browsers, among them SVG and XHTML.
    package var isXML: Bool {
        candidates.contains { ["text/xml", "application/xml", "text/xsl"].contains($0) || $0.hasSuffix("+xml") }
    }

    /// The type, if the field has exactly one that is neither a document nor a container of other types; else `nil`.
    package var harmless: String? {
        guard candidates.count == 1, !isHTML, !isXML, let type = candidates.first, !type.hasPrefix("multipart/"),
            !type.hasPrefix("message/")
        else { return nil }
        return type
    }
}

extension UInt8 {
    /// RFC 9110 §5.6.2.
    fileprivate var isTokenByte: Bool { isAlphanumeric || "!#$%&'*+-.^_`|~".utf8.contains(self) }
}
