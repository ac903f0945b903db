import HTTPTypes

/// A token, as `larder token create` prints it. Its text appears only in the `Authorization` field of requests;
/// ``description`` shows dots.
package struct BearerToken: Sendable, CustomStringConvertible, CustomReflectable {
    /// `Bearer` and the token.
    let credentials: String

    /// Trims white space. `nil` when the text is empty or has characters that a header field may not contain.
    package init?(_ text: String) {
        let token = text[...].trimmed
        guard !token.isEmpty, token.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f }) else { return nil }
        credentials = "Bearer \(token)"
    }

    /// Dots in place of the token.
    package var description: String { "•••" }

    /// A mirror without the token.
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}

extension Substring {
    /// The text without surrounding white space and line ends.
    var trimmed: Substring { trimming(while: \.isWhitespace) }
}
