import HTTPTypes

/// A token, as `larder token create` prints it. Its text appears only in the `Authorization` field of requests.
package struct BearerToken: Sendable, CustomStringConvertible, CustomReflectable {
    let credentials: String

    /// Trims white space. `nil` when the text is empty or has characters that a header field may not contain.
    package init?(_ text: String) {
        let token = text[...].trimmed
        guard !token.isEmpty, token.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f }) else { return nil }
        credentials = "Bearer \(token)"
    }

    package var description: String { "•••" }
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}

extension Substring {
    var trimmed: Substring { trimming(while: \.isWhitespace) }
}
