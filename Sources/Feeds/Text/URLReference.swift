/// Resolves references in feeds (RFC 3986 §5.2). The text stays as written, because ids are compared byte by byte.
enum URLReference {
    /// Returns `reference` as an absolute URL if `base` is one, else as written. White space around it is removed.
    static func resolve(_ reference: String, _ base: String?) -> String {
        let text = cleaned(reference)
        guard let base = base.flatMap(Parts.init), base.scheme != nil, base.authority != nil else { return text }
        guard var parts = Parts(text), !text.isEmpty else { return text.isEmpty ? base.withoutFragment : text }
        // RFC 3986 §5.2.2 lets a parser ignore the base's own scheme, as in "http:page".
        if parts.scheme != nil { return text }
        parts.scheme = base.scheme
        if parts.authority == nil {
            parts.authority = base.authority
            if parts.path.isEmpty {
                parts.path = base.path
                parts.query = parts.query ?? base.query
            } else if parts.path.utf8.first == UInt8(ascii: "/") {
                parts.path = withoutDots(parts.path)
            } else {
                // Bytes are compared, because a slash and a following accent are one Character.
                let folder = base.path.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(base.path[...$0]) } ?? "/"
                parts.path = withoutDots(folder + parts.path)
            }
        } else {
            parts.path = withoutDots(parts.path)
        }
        return parts.text
    }

    /// Whether a text is an absolute URL that a download may have.
    static func isWebAddress(_ text: String) -> Bool {
        guard let parts = Parts(text), let authority = parts.authority, !authority.isEmpty else { return false }
        return ["http", "https", "ftp"].contains(parts.scheme?.lowercased())
    }

    /// Removes white space at both ends, and line ends and tabs inside (WHATWG URL §4.4).
    private static func cleaned(_ text: String) -> String {
        let bytes = text.utf8.filter { $0 != 0x09 && $0 != 0x0a && $0 != 0x0d }
        let start = bytes.firstIndex { $0 > 0x20 } ?? bytes.endIndex
        let end = bytes.lastIndex { $0 > 0x20 } ?? start
        return start == bytes.endIndex ? "" : String(decoding: bytes[start...end], as: UTF8.self)
    }

    /// RFC 3986 §5.2.4, in linear time.
    private static func withoutDots(_ path: String) -> String {
        guard path.utf8.contains(UInt8(ascii: ".")) else { return path }
        let segments = path.utf8.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        var kept: [Substring.UTF8View] = []
        for segment in segments.dropLast() {
            if segment.elementsEqual("..".utf8) {
                _ = kept.popLast()
            } else if !segment.elementsEqual(".".utf8) {
                kept.append(segment)
            }
        }
        let last = segments.last ?? ""[...].utf8
        if last.elementsEqual("..".utf8) { _ = kept.popLast() }
        let isFolder = last.elementsEqual("..".utf8) || last.elementsEqual(".".utf8)
        let ending = isFolder ? "" : String(Substring(last))
        return kept.reduce(into: "") { $0 += "/" + String(Substring($1)) } + "/" + ending
    }

    /// The five parts of RFC 3986 §B. The delimiters are not part of them.
    private struct Parts {
        var scheme: String?
        var authority: String?
        var path: String
        var query: String?
        var fragment: String?

        init?(_ text: String) {
            var rest = text.utf8[...]
            if let hash = rest.firstIndex(of: UInt8(ascii: "#")) {
                fragment = String(Substring(rest[hash...].dropFirst()))
                rest = rest[..<hash]
            }
            if let mark = rest.firstIndex(of: UInt8(ascii: "?")) {
                query = String(Substring(rest[mark...].dropFirst()))
                rest = rest[..<mark]
            }
            if let colon = rest.firstIndex(of: UInt8(ascii: ":")), let first = rest.first, first.isASCIILetter,
                rest[..<colon].allSatisfy({ $0.isASCIILetter || (0x30...0x39).contains($0) || "+-.".utf8.contains($0) })
            {
                scheme = String(Substring(rest[..<colon]))
                rest = rest[colon...].dropFirst()
            }
            if rest.starts(with: "//".utf8) {
                let authority = rest.dropFirst(2).prefix { $0 != UInt8(ascii: "/") }
                self.authority = String(Substring(authority))
                rest = rest[authority.endIndex...]
            }
            path = String(Substring(rest))
        }

        var text: String {
            withoutFragment + (fragment.map { "#" + $0 } ?? "")
        }

        var withoutFragment: String {
            (scheme.map { $0 + ":" } ?? "") + (authority.map { "//" + $0 } ?? "") + path
                + (query.map { "?" + $0 } ?? "")
        }
    }
}

extension UInt8 {
    var isASCIILetter: Bool { (self | 0x20) &- 0x61 < 26 }
}
