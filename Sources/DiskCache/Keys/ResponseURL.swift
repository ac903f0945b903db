/// A URL as it was sent, with the MD5 that the keys of all responses to it begin with: worked out once for all that is
/// asked of the cache about them.
public struct ResponseURL: Hashable, Sendable {
    /// The URL, byte for byte.
    public let text: String
    /// Its MD5 in 32 lower-case hexadecimal digits.
    let md5: String

    /// Into how many parts ``shard`` divides URLs.
    public static let shardCount = 16
    /// The part in which the URL is: a number from 0, below ``shardCount``, that depends on nothing else.
    public let shard: Int

    /// A URL of any form: it is compared and never read.
    public init(_ text: String) {
        self.text = text
        md5 = MD5Name.of(text)
        shard = md5.utf8.last.flatMap { Int(String(UnicodeScalar($0)), radix: 16) } ?? 0
    }
}
