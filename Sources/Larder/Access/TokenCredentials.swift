import Foundation
import HTTPTypes

/// Finds tokens in credentials (RFC 9110 §11.4): `Bearer TOKEN`, and `Basic` with a token as password, or as user name
/// with any password. `Basic` serves programs that accept only a URL with a user name and a password.
package enum TokenCredentials {
    /// Returns the token in a field value; `nil` without a token. After `Bearer` the token may be any text; in `Basic`
    /// it is well-formed.
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

    /// Returns only a well-formed token. A field with such a token is meant for Larder and not for an origin,
    /// regardless of its name.
    package static func wellFormedToken(in value: String) -> [UInt8]? {
        token(in: value).flatMap { TokenSecret.isWellFormed($0) ? $0 : nil }
    }

    /// Whether a text contains a token, valid or not, in any form that ``TokenSearch`` detects. Such a text must reach
    /// neither an origin nor the log.
    package static func areIn(_ text: some StringProtocol) -> Bool {
        TokenSearch.finds(in: text)
    }

    /// Searches value and name, and the name also in lower case, because names are compared without case.
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
        // The password comes first, because the user name is often only a placeholder.
        return parts.reversed().map { Array($0) }.first(where: TokenSecret.isWellFormed)
    }
}
