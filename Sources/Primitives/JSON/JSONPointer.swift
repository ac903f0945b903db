/// A JSON Pointer (RFC 6901): the place of a value within a document.
///
///     let pointer = try JSONPointer("/contacts/0/name")
///     let name = pointer.value(in: document)
///
/// Two pointers are equal only when the bytes of their tokens are equal, because names are compared without Unicode
/// normalisation (RFC 6901 §4).
package struct JSONPointer: Hashable, Sendable, CustomStringConvertible {
    /// The unescaped names and indices, outermost first; empty for the whole document.
    package private(set) var tokens: [String]

    /// Points to the whole document.
    package static let root = JSONPointer(tokens: [])

    package init(tokens: [String]) {
        self.tokens = tokens
    }

    /// Reads the string representation (RFC 6901 §5). Throws ``SyntaxError`` for a text that is not empty and does not
    /// begin with `/`, and for a `~` that neither `0` nor `1` follows (RFC 6901 §3).
    package init(_ text: String) throws(SyntaxError) {
        var tokens: [String] = []
        var token: [UInt8] = []
        var rest = Array(text.utf8)[...]
        guard let first = rest.popFirst() else {
            self = .root
            return
        }
        guard first == UInt8(ascii: "/") else {
            throw SyntaxError(reason: "a JSON pointer is empty or begins with /")
        }
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "/"):
                tokens.append(String(decoding: token, as: UTF8.self))
                token.removeAll(keepingCapacity: true)
            case UInt8(ascii: "~"):
                switch rest.popFirst() {
                case UInt8(ascii: "0"): token.append(UInt8(ascii: "~"))
                case UInt8(ascii: "1"): token.append(UInt8(ascii: "/"))
                default: throw SyntaxError(reason: "in a JSON pointer, 0 or 1 must follow each ~")
                }
            default: token.append(byte)
            }
        }
        tokens.append(String(decoding: token, as: UTF8.self))
        self.tokens = tokens
    }

    package struct SyntaxError: Error, Hashable, Sendable, CustomStringConvertible {
        /// The reason, as words that may follow a colon.
        package var reason: String
        package var description: String { reason }
    }

    /// The string representation, with the escapes of RFC 6901 §3.
    package var description: String {
        tokens.map { "/" + JSON.pointerToken($0) }.joined()
    }

    package func appending(_ token: String) -> JSONPointer {
        JSONPointer(tokens: tokens + [token])
    }

    package func appending(_ index: Int) -> JSONPointer { appending(String(index)) }

    /// The value at this place (RFC 6901 §4); `nil` if the document has no such value. The time grows with the number
    /// of members of each object on the way, so a caller with many pointers into one object needs a table of its own.
    package func value(in document: JSON) -> JSON? {
        var value = document
        for token in tokens {
            switch value {
            case .object(let members):
                guard let member = members.first(where: { ExactText($0.name) == ExactText(token) }) else { return nil }
                value = member.value
            case .array(let elements):
                guard let index = Self.index(token), index < elements.count else { return nil }
                value = elements[index]
            case .null, .bool, .number, .string: return nil
            }
        }
        return value
    }

    /// Reads a token as the index of an array's element: `0`, or digits without a leading zero (RFC 6901 §4). `nil` for
    /// any other token, such as `-` or `01`, and for an index that does not fit.
    package static func index(_ token: String) -> Int? {
        guard token.utf8.first != UInt8(ascii: "0") || token.utf8.count == 1 else { return nil }
        return Int(digits: token)
    }

    /// Whether the pointer leads to a value that contains the value at `other`, and not to the same value.
    package func isProperPrefix(of other: JSONPointer) -> Bool {
        tokens.count < other.tokens.count && hasSameTokens(as: other.tokens.prefix(tokens.count))
    }

    package static func == (left: JSONPointer, right: JSONPointer) -> Bool {
        left.tokens.count == right.tokens.count && left.hasSameTokens(as: right.tokens[...])
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(tokens.count)
        for token in tokens { ExactText(token).hash(into: &hasher) }
    }

    private func hasSameTokens(as others: ArraySlice<String>) -> Bool {
        zip(tokens, others).allSatisfy { ExactText($0) == ExactText($1) }
    }
}

extension JSONPointer: ExpressibleByArrayLiteral {
    /// A pointer from its unescaped tokens.
    package init(arrayLiteral tokens: String...) {
        self.init(tokens: tokens)
    }
}
