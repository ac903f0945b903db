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
}
