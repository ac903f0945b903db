import Primitives

/// A URL as the client sent it, and the MD5 with which the keys of all responses to it begin, computed only once.
package struct ResponseURL: Hashable, Sendable {
    package let text: String
    let md5: String
    /// The last byte of the MD5: depends on the URL alone, and all 256 values are equally likely.
    package let spread: UInt8

    /// Takes a URL of any form, because the text is compared and never parsed.
    package init(_ text: String) {
        self.text = text
        md5 = MD5Name.of(text)
        spread = UInt8(md5.suffix(2), radix: 16) ?? 0
    }

    /// `nil` if `url` is canonical, or has no canonical form. Its host may have any spelling.
    private static func canonical(ofAny url: String) -> String? {
        guard let canonical = try? CanonicalURL(url).string else { return nil }
        return canonical == url ? nil : canonical
    }

    /// The same for a stored URL. Most are canonical and are not parsed.
    static func canonical(of url: String) -> String? {
        // Stored URLs differ from canonical ones only by escapes, dot segments, a bare `?` and a dot behind the host.
        let (slash, dot, colon) = (UInt8(ascii: "/"), UInt8(ascii: "."), UInt8(ascii: ":"))
        var url = url
        let isPlain = url.withUTF8 { bytes in
            bytes.last != UInt8(ascii: "?") && !bytes.contains(UInt8(ascii: "%"))
                && !zip(bytes, bytes.dropFirst()).contains {
                    $0 == (slash, dot) || $0 == (dot, slash) || $0 == (dot, colon)
                }
        }
        return isPlain ? nil : canonical(ofAny: url)
    }

    /// The host of a stored URL's canonical URL, without its port.
    static func host(of url: String) -> String {
        let host = URLParts.host(of: url)
        // The host of a stored URL is canonical except for the dot of the DNS root at its end.
        guard host.utf8.last == UInt8(ascii: "."), let canonical = canonical(ofAny: url) else { return host }
        return URLParts.host(of: canonical)
    }
}
