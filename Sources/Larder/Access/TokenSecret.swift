import Crypto
import Foundation

/// A token as its bearer sends it: `larder_NAME_SECRET`. The name selects the digest to compare with. The prefix lets
/// scanners for leaked secrets recognise a token.
package struct TokenSecret: Sendable {
    package static let prefix = "larder_"
    /// In bytes; prefix, name, and 256 bits in base64url fit. Longer texts are rejected.
    static let lengthLimit = 128

    package let text: String

    package init(name: String) {
        var generator = SystemRandomNumberGenerator()
        let bits = (0..<4).flatMap { _ in withUnsafeBytes(of: generator.next()) { Array($0) } }
        text = Self.prefix + name + "_" + Self.base64URL(bits)
    }

    package var digest: [UInt8] {
        var text = text
        return text.withUTF8 { Self.digest(of: UnsafeRawBufferPointer($0)) }
    }

    static func digest(of token: UnsafeRawBufferPointer) -> [UInt8] {
        Array(SHA256.hash(data: token))
    }

    /// Returns `nil` when the bytes are too long or lack the prefix.
    static func name(in token: UnsafeRawBufferPointer) -> String? {
        guard token.count <= lengthLimit, token.starts(with: prefix.utf8) else { return nil }
        let name = token.dropFirst(prefix.utf8.count).prefix { $0 != UInt8(ascii: "_") }
        return String(decoding: name, as: UTF8.self)
    }

    /// Whether the bytes have the exact form of a token, valid or not.
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
