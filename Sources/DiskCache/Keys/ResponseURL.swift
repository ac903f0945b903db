import Primitives

/// A URL as it was sent, with the MD5 that the keys of all responses to it begin with: worked out once for all that is
/// asked of the cache about them.
public struct ResponseURL: Hashable, Sendable {
    /// The URL, byte for byte.
    public let text: String
    /// Its MD5 in 32 lower-case hexadecimal digits.
    let md5: String

    /// The last byte of the MD5: a number that depends on the URL alone, each as likely as another.
    public let spread: UInt8

    /// A URL of any form: it is compared and never read.
    public init(_ text: String) {
        self.text = text
        md5 = MD5Name.of(text)
        spread = UInt8(md5.suffix(2), radix: 16) ?? 0
    }

    /// The canonical URL of what was sent as `url`, if that is another text; `nil`: `url` is canonical itself, or has
    /// no canonical form.
    static func canonical(of url: String) -> String? {
        // Only escapes, dot segments and a bare `?` make a difference behind the host, which is canonical already.
        var url = url
        let isPlain = url.withUTF8 { bytes in
            bytes.last != UInt8(ascii: "?") && !bytes.contains(UInt8(ascii: "%"))
                && !zip(bytes, bytes.dropFirst()).contains { $0 == (UInt8(ascii: "/"), UInt8(ascii: ".")) }
        }
        guard !isPlain, let canonical = try? CanonicalURL(url).string else { return nil }
        return canonical == url ? nil : canonical
    }
}
