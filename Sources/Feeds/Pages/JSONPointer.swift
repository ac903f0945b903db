import Primitives

/// A JSON Pointer (RFC 6901).
package struct JSONPointer: Hashable, Sendable, CustomStringConvertible {
    package let description: String
    private let tokens: [String]

    /// Reads a pointer such as `/data/items` or `/pages/0/next`. The empty text means the whole document. `nil` for a
    /// text that neither is empty nor begins with a slash, and for a tilde that begins no escape.
    package init?(_ text: String) {
        description = text
        guard let first = text.utf8.first else {
            tokens = []
            return
        }
        guard first == UInt8(ascii: "/") else { return nil }
        var tokens: [String] = []
        for part in text.utf8.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false) {
            guard let token = Self.decoded(part) else { return nil }
            tokens.append(token)
        }
        self.tokens = tokens
    }

    /// The value to which the pointer leads; `nil` if there is none.
    package func value(in document: JSON) -> JSON? {
        var value = document
        for token in tokens {
            switch value {
            case .object:
                guard let member = value[token] else { return nil }
                value = member
            case .array(let elements):
                // An index has no leading zero (RFC 6901 §4).
                guard let index = Int(digits: token), String(index) == token, index < elements.count else { return nil }
                value = elements[index]
            default: return nil
            }
        }
        return value
    }

    /// The name without its escapes, `~1` for a slash and `~0` for a tilde.
    private static func decoded(_ token: Substring.UTF8View) -> String? {
        var output: [UInt8] = []
        var rest = token
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "~") else {
                output.append(byte)
                continue
            }
            switch rest.popFirst() {
            case UInt8(ascii: "0"): output.append(UInt8(ascii: "~"))
            case UInt8(ascii: "1"): output.append(UInt8(ascii: "/"))
            default: return nil
            }
        }
        return String(decoding: output, as: UTF8.self)
    }
}
