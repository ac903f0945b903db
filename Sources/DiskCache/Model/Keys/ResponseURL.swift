import Primitives

/// A URL as the client sent it, and its MD5, with which the keys of all responses to the URL begin. The MD5 is computed
/// once for all questions to the cache about these responses.
package struct ResponseURL: Hashable, Sendable {
    package let text: String
    /// Its MD5 in 32 lower-case hexadecimal digits.
    let md5: String

    /// The last byte of the MD5: depends on the URL alone, and all 256 values are equally likely.
    package let spread: UInt8

    /// Takes a URL of any form, because the text is compared and never parsed.
    package init(_ text: String) {
        self.text = text
        md5 = MD5Name.of(text)
        spread = UInt8(md5.suffix(2), radix: 16) ?? 0
    }

    /// Returns the canonical URL of `url` if its text differs; `nil` if `url` is canonical, or has no canonical form.
    /// The host of `url` may have any spelling.
    private static func canonical(ofAny url: String) -> String? {
        guard let canonical = try? CanonicalURL(url).string else { return nil }
        return canonical == url ? nil : canonical
    }

    /// Returns the canonical URL of a stored URL if its text differs; `nil` if the URL is canonical, or has no
    /// canonical form. Most URLs are canonical and are not parsed.
    static func canonical(of url: String) -> String? {
        // A stored URL differs from its canonical text only by escapes, dot segments, a bare `?` and a dot at the end
        // of the host.
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

    /// Returns the host of the canonical URL of a stored URL, without its port.
    static func host(of url: String) -> String {
        let host = URLParts.host(of: url)
        // The host of a stored URL is canonical except for the dot of the DNS root at its end.
        guard host.utf8.last == UInt8(ascii: "."), let canonical = canonical(ofAny: url) else { return host }
        return URLParts.host(of: canonical)
    }
}
