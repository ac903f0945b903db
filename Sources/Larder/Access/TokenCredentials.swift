import Crypto
import Foundation
import HTTPTypes

/// Finds tokens in credentials (RFC 9110 §11.4): `Bearer TOKEN`, and `Basic` with a token as password, or as user name
/// with any password. `Basic` serves programs that accept only a URL with a user name and a password.
package enum TokenCredentials {
    /// Returns the token in a field value, or `nil`: any text after `Bearer`, or a well-formed token in `Basic`.
    package static func token(in value: String) -> [UInt8]? {
        let parts = value.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: true)
        guard parts.count == 2 else { return nil }
        let credentials = parts[1].trimmingPrefix { $0 == " " }
        switch parts[0].lowercased() {
        case "bearer": return Array(credentials.utf8)
        case "basic": return basicToken(credentials)
        default: return nil
        }
    }

    /// Returns the token in a field value if it is well-formed. Such a field is for Larder and not for an origin.
    package static func wellFormedToken(in value: String) -> [UInt8]? {
        token(in: value).flatMap { TokenSecret.isWellFormed($0) ? $0 : nil }
    }

    /// Whether a token is in the field's value or name. Also checks the name in lower case, as names have no case.
    package static func areIn(_ field: HTTPField) -> Bool {
        areIn(field.value) || areIn(field.name.rawName) || areIn(field.name.canonicalName)
    }

    /// Returns the token in `user:password` in Base64 (RFC 7617 §2), with or without padding. Ignores line ends behind
    /// the pair, because shells add them (`echo user:password | base64`).
    private static func basicToken(_ credentials: Substring) -> [UInt8]? {
        let padded = credentials + String(repeating: "=", count: (4 - credentials.utf8.count % 4) % 4)
        guard var pair = Data(base64Encoded: String(padded)) else { return nil }
        while let last = pair.last, last == 0x0a || last == 0x0d { pair.removeLast() }
        let parts = pair.split(separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false)
        // Checks the password first, because the user name is often only a placeholder.
        return parts.reversed().map { Array($0) }.first(where: TokenSecret.isWellFormed)
    }
}

/// A token as its bearer sends it: `larder_NAME_SECRET`. The name selects the digest to compare with. The prefix lets
/// scanners for leaked secrets recognise a token.
package struct TokenSecret: Sendable {
    package static let prefix = "larder_"
    /// The greatest length in bytes: enough for the prefix, the longest name, and a secret of 256 bits in base64url.
    static let lengthLimit = 128

    package let text: String

    package init(name: String) {
        var generator = SystemRandomNumberGenerator()
        let bits = (0..<4).flatMap { _ in withUnsafeBytes(of: generator.next()) { Array($0) } }
        // RFC 4648 §5, without padding.
        let base64URL = Data(bits).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
        text = Self.prefix + name + "_" + base64URL.replacing("=", with: "")
    }

    package var digest: [UInt8] { Array(SHA256.hash(data: Data(text.utf8))) }

    /// Returns the name in a token; `nil` when the bytes are too long or lack the prefix.
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
}

/// The form of a URL in the log: without its query, which may contain a secret.
package enum LoggedURL {
    /// Replaces the query by `?…`. Returns only scheme and host when the path contains a token of Larder, in plain or
    /// encoded form, and only `…` when the host contains a token. A canonical URL has no user name and no password.
    package static func text(of url: String) -> String {
        let shown = url.prefix { $0 != "?" }
        guard !TokenCredentials.areIn(shown) else {
            let host = url.split(separator: "/", maxSplits: 3).prefix(2).joined(separator: "//")
            return TokenCredentials.areIn(host) ? "…" : host + "/…"
        }
        return shown.endIndex == url.endIndex ? url : shown + "?…"
    }
}
