/// A JSON value (RFC 8259) that loses nothing of what was written: numbers keep their text, objects keep the order of
/// their members.
///
/// Foundation's decoders turn `1.0` into `1` and `12345678901234567890` into a rounded `Double`; both would change a
/// canonical URL that such a number becomes part of.
public enum JSON: Hashable, Sendable {
    case null
    case bool(Bool)
    /// A number, as it was written (`1.50`, `1e3`).
    case number(String)
    case string(String)
    case array([JSON])
    /// The members in their order. A parsed object never has two of one name.
    case object([Member])

    /// A name and its value.
    public struct Member: Hashable, Sendable {
        /// The name, unescaped.
        public var name: String
        /// The value.
        public var value: JSON

        /// A member of an object.
        public init(_ name: String, _ value: JSON) {
            self.name = name
            self.value = value
        }
    }

    /// The value of the member of that name; `nil` when this is no object or has none.
    public subscript(name: String) -> JSON? {
        guard case .object(let members) = self else { return nil }
        return members.first { $0.name == name }?.value
    }

    /// The text, when this is a string.
    public var stringValue: String? {
        if case .string(let text) = self { text } else { nil }
    }

    /// The truth value, when this is one.
    public var boolValue: Bool? {
        if case .bool(let value) = self { value } else { nil }
    }

    /// The number as floating point, when this is a number; infinite when it is larger than a `Double` can be.
    public var doubleValue: Double? {
        if case .number(let text) = self { Double(text) } else { nil }
    }

    /// The number, when this is one that is written as an integer and fits.
    public var integerValue: Int64? {
        if case .number(let text) = self { Int64(text) } else { nil }
    }

    /// The elements, when this is an array.
    public var arrayValue: [JSON]? {
        if case .array(let elements) = self { elements } else { nil }
    }

    /// A number of whole milliseconds, written in seconds without needless digits: `20`, `0.5`.
    public static func seconds(_ duration: Duration) -> JSON {
        let milliseconds = duration.milliseconds
        if milliseconds % 1000 == 0 { return .number(String(milliseconds / 1000)) }
        return .number(String(Double(milliseconds) / 1000))
    }

    /// A number.
    public static func number(_ value: some BinaryInteger) -> JSON {
        .number(String(value))
    }

    /// A string, or `null` for `nil`.
    public static func string(orNull text: String?) -> JSON {
        text.map(JSON.string) ?? .null
    }

    /// An instant in RFC 3339, or `null` for `nil`.
    public static func date(_ instant: Timestamp?) -> JSON {
        instant.map { .string($0.rfc3339) } ?? .null
    }
}

extension JSON: ExpressibleByStringLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    /// A string.
    public init(stringLiteral value: String) { self = .string(value) }
    /// A truth value.
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    /// A number.
    public init(integerLiteral value: Int) { self = .number(String(value)) }
    /// An array.
    public init(arrayLiteral elements: JSON...) { self = .array(elements) }
    /// An object; its members keep the order of the literal.
    public init(dictionaryLiteral elements: (String, JSON)...) {
        self = .object(elements.map { Member($0.0, $0.1) })
    }
}
