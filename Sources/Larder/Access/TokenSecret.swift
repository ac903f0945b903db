import Crypto
import Foundation

/// A token as its bearer sends it: `larder_NAME_SECRET`. The name tells which digest to compare with, and scanners for
/// leaked secrets know it by its beginning.
public struct TokenSecret: Sendable {
    /// What every token begins with.
    public static let prefix = "larder_"
    /// Longer ones are none: prefix, name, and 256 bits in base64url.
    static let lengthLimit = 128

    /// The whole token.
    public let text: String

    /// A new one, with 256 random bits.
    public init(name: String) {
        var generator = SystemRandomNumberGenerator()
        let bits = (0..<4).flatMap { _ in withUnsafeBytes(of: generator.next()) { Array($0) } }
        text = Self.prefix + name + "_" + Self.base64URL(bits)
    }

    /// The SHA-256 of the whole token.
    public var digest: [UInt8] {
        var text = text
        return text.withUTF8 { Self.digest(of: UnsafeRawBufferPointer($0)) }
    }

    static func digest(of token: UnsafeRawBufferPointer) -> [UInt8] {
        Array(SHA256.hash(data: token))
    }

    /// The name in a token; `nil` when it is none.
    static func name(in token: UnsafeRawBufferPointer) -> String? {
        guard token.count <= lengthLimit, token.starts(with: prefix.utf8) else { return nil }
        let name = token.dropFirst(prefix.utf8.count).prefix { $0 != UInt8(ascii: "_") }
        return String(decoding: name, as: UTF8.self)
    }

    /// Whether the bytes are a token, good or not, and nothing else.
    static func isWellFormed(_ bytes: [UInt8]) -> Bool {
        guard bytes.count <= lengthLimit, bytes.starts(with: prefix.utf8) else { return false }
        let parts = bytes.dropFirst(prefix.utf8.count).split(
            separator: UInt8(ascii: "_"), maxSplits: 1, omittingEmptySubsequences: false)
        return parts.count == 2 && AccessToken.isName(String(decoding: parts[0], as: UTF8.self))
            && parts[1].count >= 43 && parts[1].allSatisfy(\.isBase64URL)
    }

    /// RFC 4648 §5, without padding.
    private static func base64URL(_ bytes: [UInt8]) -> String {
        Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }
}
