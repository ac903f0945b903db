import Foundation
import HTTPTypes

/// Tokens in what clients send as credentials (RFC 9110 §11.4): `Bearer TOKEN`, and `Basic` with a token as its
/// password, or as its user name, with any password. That is what programs can send which take a URL with a user name
/// and a password in it, and nothing else.
public enum TokenCredentials {
    /// The token in a field's value, as `Bearer` or `Basic`; `nil` without one. Of `Bearer` it may be anything, of
    /// `Basic` it is well-formed.
    public static func token(in value: String) -> [UInt8]? {
        let parts = value.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: true)
        guard parts.count == 2 else { return nil }
        let credentials = parts[1].trimmingPrefix { $0 == " " }
        switch parts[0].lowercased() {
        case "bearer": return Array(credentials.utf8)
        case "basic": return basicToken(credentials)
        default: return nil
        }
    }

    /// The same, when it is well-formed: the field is not meant for an origin then, whatever its name.
    public static func wellFormedToken(in value: String) -> [UInt8]? {
        token(in: value).flatMap { TokenSecret.isWellFormed($0) ? $0 : nil }
    }

    /// Whether a token, valid or not, is in a text, in any form that ``TokenSearch`` knows. Such a text goes neither to
    /// an origin nor into the log.
    public static func areIn(_ text: some StringProtocol) -> Bool {
        TokenSearch.finds(in: text)
    }

    /// Whether a token is in the name or the value of a field. A name counts in any case, because names are compared
    /// without it.
    public static func areIn(_ field: HTTPField) -> Bool {
        areIn(field.value) || areIn(field.name.rawName) || areIn(field.name.canonicalName)
    }

    /// RFC 7617 §2: `user:password` in Base64; the padding may be missing. A line end behind the pair is left out,
    /// because shells add one (`echo user:password | base64`).
    private static func basicToken(_ credentials: Substring) -> [UInt8]? {
        let padded = credentials + String(repeating: "=", count: (4 - credentials.utf8.count % 4) % 4)
        guard var pair = Data(base64Encoded: String(padded)) else { return nil }
        while let last = pair.last, last == 0x0a || last == 0x0d { pair.removeLast() }
        let parts = pair.split(separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false)
        // The password first: the user name is often a word that stands for it.
        return parts.reversed().map { Array($0) }.first(where: TokenSecret.isWellFormed)
    }
}
