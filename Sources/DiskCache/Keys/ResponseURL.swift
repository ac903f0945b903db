import Primitives

/// A URL as the client sent it, and its MD5, with which the keys of all responses to the URL begin. The MD5 is computed
/// once for all questions to the cache about these responses.
public struct ResponseURL: Hashable, Sendable {
    /// The URL, byte for byte.
    public let text: String
    /// Its MD5 in 32 lower-case hexadecimal digits.
    let md5: String

    /// The last byte of the MD5: depends on the URL alone, and all 256 values are equally likely.
    public let spread: UInt8

    /// Takes a URL of any form, because the text is compared and never parsed.
    public init(_ text: String) {
        self.text = text
        md5 = MD5Name.of(text)
        spread = UInt8(md5.suffix(2), radix: 16) ?? 0
    }

    /// As ``canonical(of:)``, of a URL whose host may have another spelling, too.
    static func canonical(ofAny url: String) -> String? {
        guard let canonical = try? CanonicalURL(url).string else { return nil }
        return canonical == url ? nil : canonical
    }

    /// The canonical URL of `url`, if that is another text; `nil`: `url` is canonical itself, or has no canonical form.
    static func canonical(of url: String) -> String? {
        // Only escapes, dot segments, a bare `?` and a dot at the host's end make a difference: the host is canonical
        // otherwise.
        let (slash, dot, colon) = (UInt8(ascii: "/"), UInt8(ascii: "."), UInt8(ascii: ":"))
        var url = url
        let isPlain = url.withUTF8 { bytes in
            bytes.last != UInt8(ascii: "?") && !bytes.contains(UInt8(ascii: "%"))
                && !zip(bytes, bytes.dropFirst()).contains {
                    $0 == (slash, dot) || $0 == (dot, slash) || $0 == (dot, colon) || $0 == (slash, UInt8(ascii: "["))
                }
        }
        return isPlain ? nil : canonical(ofAny: url)
    }
}
