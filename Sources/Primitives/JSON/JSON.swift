/// A JSON value (RFC 8259) that keeps all details of the text: numbers keep their spelling, and objects keep the order
/// of their members.
///
/// Foundation's decoders turn `1.0` into `1` and `12345678901234567890` into a rounded `Double`. Both would change a
/// canonical URL that contains such a number.
package enum JSON: Hashable, Sendable {
    case null
    case bool(Bool)
    /// A number in the spelling of the text (`1.50`, `1e3`).
    case number(String)
    case string(String)
    case array([JSON])
    /// The members in their order. A parsed object never has two members of the same name.
    case object([Member])

    package struct Member: Hashable, Sendable {
        /// The name, unescaped.
        package var name: String
        package var value: JSON

        package init(_ name: String, _ value: JSON) {
            self.name = name
            self.value = value
        }
    }

    /// The value of the first member of that name; `nil` when the object has no such member, or this value is not an
    /// object.
    package subscript(name: String) -> JSON? {
        guard case .object(let members) = self else { return nil }
        return members.first { $0.name == name }?.value
    }

    /// The text of a string; `nil` for any other value.
    package var stringValue: String? {
        if case .string(let text) = self { text } else { nil }
    }

    /// The value of a Boolean; `nil` for any other value.
    package var boolValue: Bool? {
        if case .bool(let value) = self { value } else { nil }
    }

    /// The number as floating point, infinite when a `Double` cannot hold it; `nil` for any other value.
    package var doubleValue: Double? {
        if case .number(let text) = self { Double(text) } else { nil }
    }

    /// The number, when it is written as an integer and fits; `nil` for any other value.
    package var integerValue: Int64? {
        if case .number(let text) = self { Int64(text) } else { nil }
    }

    /// The elements of an array; `nil` for any other value.
    package var arrayValue: [JSON]? {
        if case .array(let elements) = self { elements } else { nil }
    }

    /// A duration as a number of seconds, exact to the millisecond and without needless digits: `20`, `0.5`.
    package static func seconds(_ duration: Duration) -> JSON {
        let milliseconds = duration.milliseconds
        if milliseconds % 1000 == 0 { return .number(String(milliseconds / 1000)) }
        return .number(String(Double(milliseconds) / 1000))
    }

    package static func number(_ value: some BinaryInteger) -> JSON {
        .number(String(value))
    }

    /// A string, or `null` for `nil`.
    package static func string(orNull text: String?) -> JSON {
        text.map(JSON.string) ?? .null
    }

    /// An instant in RFC 3339, or `null` for `nil`.
    package static func date(_ instant: Timestamp?) -> JSON {
        instant.map { .string($0.rfc3339) } ?? .null
    }

    /// Encodes the name of a member as a token of a JSON Pointer (RFC 6901 §3).
    package static func pointerToken(_ name: String) -> String {
        // The code compares bytes, because a tilde with a following accent is another character.
        guard name.utf8.contains(where: { $0 == UInt8(ascii: "~") || $0 == UInt8(ascii: "/") }) else { return name }
        var token = ""
        for character in name.unicodeScalars {
            switch character {
            case "~": token += "~0"
            case "/": token += "~1"
            default: token.unicodeScalars.append(character)
            }
        }
        return token
    }
}

extension JSON: ExpressibleByStringLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    package init(stringLiteral value: String) { self = .string(value) }
    package init(booleanLiteral value: Bool) { self = .bool(value) }
    package init(integerLiteral value: Int) { self = .number(String(value)) }
    package init(arrayLiteral elements: JSON...) { self = .array(elements) }
    /// An object; its members keep the order of the literal.
    package init(dictionaryLiteral elements: (String, JSON)...) {
        self = .object(elements.map { Member($0.0, $0.1) })
    }
}
