import Crypto
import Foundation
import Primitives

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

    /// Whether there is a token in a text with percent-escapes, as it is or escaped, also more than once.
    public static func isInEscaped(_ text: String) -> Bool {
        var text = text
        for _ in 0..<4 {
            if isIn(text) { return true }
            guard text.utf8.contains(UInt8(ascii: "%")) else { return false }
            let decoded = text.decodingEscapes
            if decoded == text { return false }
            text = decoded
        }
        // Nobody escapes a text as often as that for another reason than to hide what it is.
        return isIn(text)
    }

    /// Whether there is a token in a text, good or not: it must not go where the text goes.
    public static func isIn(_ text: String) -> Bool {
        var rest = text.utf8[...]
        // Most values are shorter.
        guard rest.count > prefix.utf8.count + 44 else { return false }
        while let start = rest.firstIndex(of: UInt8(ascii: "l")) {
            rest = rest[start...]
            if rest.starts(with: prefix.utf8) {
                let parts = rest.dropFirst(prefix.utf8.count).split(separator: UInt8(ascii: "_"), maxSplits: 1)
                if parts.count == 2, parts[1].prefix(while: \.isBase64URL).count >= 43 { return true }
            }
            rest = rest.dropFirst()
        }
        return false
    }

    /// RFC 4648 §5, without padding.
    private static func base64URL(_ bytes: [UInt8]) -> String {
        Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }
}

extension String {
    /// With each escape that is whole as the byte that it stands for; bytes that are not UTF-8 are replaced.
    fileprivate var decodingEscapes: String {
        var bytes: [UInt8] = []
        var rest = utf8[...]
        while let byte = rest.popFirst() {
            let digits = rest.prefix(2)
            if byte == UInt8(ascii: "%"), digits.count == 2, let high = digits.first?.hexDigitValue,
                let low = digits.last?.hexDigitValue
            {
                bytes.append(high << 4 | low)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension UInt8 {
    fileprivate var isBase64URL: Bool {
        (0x30...0x39).contains(self) || (0x41...0x5a).contains(self) || (0x61...0x7a).contains(self) || self == 0x2d
            || self == 0x5f
    }
}
