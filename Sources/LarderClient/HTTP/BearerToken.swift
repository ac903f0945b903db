import HTTPTypes

/// A token as `larder token create` prints it. Its text goes into one field of a request, and nowhere else: printed, it
/// is a few dots.
public struct BearerToken: Sendable, CustomStringConvertible, CustomReflectable {
    /// `Bearer` and the token.
    let credentials: String

    /// White space around it is no part of it; `nil` for what no token can be: nothing, or a text with characters that
    /// do not belong into a field.
    public init?(_ text: String) {
        let token = text[...].trimmed
        guard !token.isEmpty, token.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f }) else { return nil }
        credentials = "Bearer \(token)"
    }

    /// Says nothing of it.
    public var description: String { "•••" }

    /// Shows nothing of it.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

extension Substring {
    /// Without white space and line ends around it.
    var trimmed: Substring { trimming(while: \.isWhitespace) }
}
