/// A JSON value (RFC 8259) that keeps the spelling of numbers and the order of members. Foundation's decoders turn
/// `1.0` into `1` and `12345678901234567890` into a rounded `Double`, which would change a canonical URL.
package enum JSON: Hashable, Sendable {
    case null
    case bool(Bool)
    case number(String)
    case string(String)
    case array([JSON])
    /// A parsed object never has two members of the same name.
    case object([Member])

    package struct Member: Hashable, Sendable {
        package var name: String
        package var value: JSON

        package init(_ name: String, _ value: JSON) {
            self.name = name
            self.value = value
        }
    }

    /// The value of the first member with this name; `nil` when there is none, or when this value is not an object.
    /// Names are compared byte by byte (RFC 8259 §8.3), also because `String` takes long to compare accents.
    package subscript(name: String) -> JSON? {
        guard case .object(let members) = self else { return nil }
        let name = ExactText(name)
        return members.first { ExactText($0.name) == name }?.value
    }

    // Each of these properties is `nil` when the value has another type.
    package var stringValue: String? { if case .string(let text) = self { text } else { nil } }
    package var boolValue: Bool? { if case .bool(let value) = self { value } else { nil } }
    package var arrayValue: [JSON]? { if case .array(let elements) = self { elements } else { nil } }
    /// Infinite when the number is too large for a `Double`.
    package var doubleValue: Double? { if case .number(let text) = self { Double(text) } else { nil } }
    /// The number, if it is written as an integer and fits; otherwise `nil`.
    package var integerValue: Int64? { if case .number(let text) = self { Int64(text) } else { nil } }

    /// A duration as a number of seconds, exact to the millisecond and without needless digits: `20`, `0.5`.
    package static func seconds(_ duration: Duration) -> JSON {
        let milliseconds = duration.milliseconds
        if milliseconds % 1000 == 0 { return .number(String(milliseconds / 1000)) }
        return .number(String(Double(milliseconds) / 1000))
    }

    package static func number(_ value: some BinaryInteger) -> JSON { .number(String(value)) }
    package static func string(orNull text: String?) -> JSON { text.map(JSON.string) ?? .null }
    /// An instant in RFC 3339, or `null` for `nil`.
    package static func date(_ instant: Timestamp?) -> JSON { instant.map { .string($0.rfc3339) } ?? .null }

    /// Encodes the name of a member as a token of a JSON Pointer (RFC 6901 §3).
    package static func pointerToken(_ name: String) -> String {
        // The code compares bytes, because for `Character` a tilde and a following accent are not a tilde.
        guard name.utf8.contains(where: { $0 == UInt8(ascii: "~") || $0 == UInt8(ascii: "/") }) else { return name }
        return name.unicodeScalars.map { $0 == "~" ? "~0" : $0 == "/" ? "~1" : String($0) }.joined()
    }
}

extension JSON: ExpressibleByStringLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    package init(stringLiteral value: String) { self = .string(value) }
    package init(booleanLiteral value: Bool) { self = .bool(value) }
    package init(integerLiteral value: Int) { self = .number(String(value)) }
    package init(arrayLiteral elements: JSON...) { self = .array(elements) }
    package init(dictionaryLiteral elements: (String, JSON)...) {
        self = .object(elements.map { Member($0.0, $0.1) })
    }
}

extension JSON {
    /// The value as compact UTF-8 text.
    package var utf8: [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(1024)
        write(into: &output)
        return output
    }

    package var text: String { String(decoding: utf8, as: UTF8.self) }

    package func write(into output: inout [UInt8]) {
        switch self {
        case .null: output.append(contentsOf: "null".utf8)
        case .bool(let value): output.append(contentsOf: (value ? "true" : "false").utf8)
        case .number(let text): output.append(contentsOf: text.utf8)
        case .string(let text): Self.write(text, into: &output)
        case .array(let elements): Self.write(list: elements, into: &output) { $0.write(into: &$1) }
        case .object(let members):
            output.append(UInt8(ascii: "{"))
            for (index, member) in members.enumerated() {
                if index > 0 { output.append(UInt8(ascii: ",")) }
                Self.write(member.name, into: &output)
                output.append(UInt8(ascii: ":"))
                member.value.write(into: &output)
            }
            output.append(UInt8(ascii: "}"))
        }
    }

    fileprivate static func write<Element>(
        list: some Sequence<Element>, into output: inout [UInt8], _ write: (Element, inout [UInt8]) -> Void
    ) {
        output.append(UInt8(ascii: "["))
        var isFirst = true
        for element in list {
            if !isFirst { output.append(UInt8(ascii: ",")) }
            isFirst = false
            write(element, &output)
        }
        output.append(UInt8(ascii: "]"))
    }

    /// Writes a string with its quotes, and with the escapes that RFC 8259 §7 requires.
    static func write(_ text: String, into output: inout [UInt8]) {
        output.append(UInt8(ascii: "\""))
        defer { output.append(UInt8(ascii: "\"")) }
        var text = text
        // Most strings need no escape, and are copied whole.
        let isPlain = text.withUTF8 { bytes in
            let needsEscape = bytes.contains { $0 < 0x20 || $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "\\") }
            if !needsEscape { output.append(contentsOf: bytes) }
            return !needsEscape
        }
        if isPlain { return }
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"):
                output.append(UInt8(ascii: "\\"))
                output.append(byte)
            case 0x0A: output.append(contentsOf: "\\n".utf8)
            case 0x0D: output.append(contentsOf: "\\r".utf8)
            case 0x09: output.append(contentsOf: "\\t".utf8)
            case 0..<0x20:
                output.append(contentsOf: "\\u00".utf8)
                output.append((byte >> 4).hexDigit)
                output.append((byte & 15).hexDigit)
            default: output.append(byte)
            }
        }
    }
}

/// Writes a JSON object member by member, without building a ``JSON`` value first. Each name may be added once.
package struct JSONObjectWriter {
    private var output: [UInt8] = []

    package init() {
        output.reserveCapacity(1024)
        output.append(UInt8(ascii: "{"))
    }

    package mutating func add(_ name: String, _ text: String) {
        begin(name)
        JSON.write(text, into: &output)
    }

    package mutating func add(_ name: String, _ number: some FixedWidthInteger) {
        begin(name)
        output.append(contentsOf: String(number).utf8)
    }

    package mutating func add(_ name: String, _ value: JSON) {
        begin(name)
        value.write(into: &output)
    }

    /// Writes each element of an array before it requests the next element, so only one element exists at a time.
    package mutating func add(_ name: String, elements: some Sequence<JSON>) {
        begin(name)
        JSON.write(list: elements, into: &output) { $0.write(into: &$1) }
    }

    /// Writes each pair as an array of two strings. The method is not generic, because it is called for the fields of
    /// each response, and other modules would not specialise a generic method.
    package mutating func add(_ name: String, pairs: [(String, String)]) {
        begin(name)
        JSON.write(list: pairs, into: &output) { pair, output in
            output.append(UInt8(ascii: "["))
            JSON.write(pair.0, into: &output)
            output.append(UInt8(ascii: ","))
            JSON.write(pair.1, into: &output)
            output.append(UInt8(ascii: "]"))
        }
    }

    /// Closes the object and returns it as UTF-8 text, without a copy.
    package consuming func finish() -> [UInt8] {
        output.append(UInt8(ascii: "}"))
        return output
    }

    package var text: String {
        String(unsafeUninitializedCapacity: output.count + 1) { buffer in
            let end = buffer.initialize(fromContentsOf: output)
            buffer.initializeElement(at: end, to: UInt8(ascii: "}"))
            return end + 1
        }
    }

    private mutating func begin(_ name: String) {
        if output.count > 1 { output.append(UInt8(ascii: ",")) }
        JSON.write(name, into: &output)
        output.append(UInt8(ascii: ":"))
    }
}

/// The encoding of a JSON text, detected from its first bytes. JSON between systems is UTF-8 (RFC 8259 §8.1). The first
/// characters are ASCII (RFC 4627 §3), so zeros beside them reveal another encoding, as a byte order mark does.
package enum JSONEncoding: String, Hashable, Sendable {
    case utf8 = "UTF-8"
    case utf16 = "UTF-16"
    case utf32 = "UTF-32"

    /// The byte order mark that may precede a UTF-8 text; readers skip it.
    package static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]

    /// Reads the first four bytes, or all bytes of a shorter text.
    package init(_ beginning: some Collection<UInt8>) {
        let bytes = Array(beginning.prefix(4))
        let match = Self.patterns.first { pattern, _ in
            bytes.count >= pattern.count && zip(bytes, pattern).allSatisfy { $1 == nil ? $0 != 0 : $0 == $1 }
        }
        self = match?.encoding ?? .utf8
    }

    /// The first bytes of texts in other encodings; `nil` is any byte but zero.
    private static let patterns: [(bytes: [UInt8?], encoding: JSONEncoding)] = [
        ([0xFF, 0xFE, 0, 0], .utf32), ([0, 0, 0xFE, 0xFF], .utf32), ([nil, 0, 0, 0], .utf32),
        ([0, 0, 0, nil], .utf32), ([0xFF, 0xFE], .utf16), ([0xFE, 0xFF], .utf16), ([nil, 0], .utf16),
        ([0, nil], .utf16),
    ]

    /// The reason for a refusal, as words that may follow "the body is not JSON: "; `nil` for UTF-8.
    package var fault: String? {
        self == .utf8 ? nil : "the encoding is \(rawValue), but JSON must be UTF-8 (RFC 8259 §8.1)"
    }
}

/// The charset that a Content-Type declares for JSON, as in `application/json; charset=iso-8859-1`.
package enum JSONCharset: Hashable, Sendable {
    /// UTF-8, or no declared charset.
    case utf8
    /// A charset other than UTF-8 in which ASCII text has the same bytes as in UTF-8; its name in lower case.
    case extendsASCII(String)
    /// Any other charset, such as UTF-16, or an unknown name, in lower case.
    case other(String)

    private static let namesOfUTF8: Set<String> = ["", "utf-8", "utf8"]
    private static let namesOfASCII: Set<String> = ["us-ascii", "ascii", "ansi_x3.4-1968", "iso646-us", "latin1"]

    /// If there are several charsets, the first one other than UTF-8 counts. `contentType` is `nil` without the field.
    package init(contentType: String?) {
        let names = ContentDisposition.parameters(of: contentType ?? "")
            .filter { $0.name == "charset" }
            .map { String(decoding: $0.value, as: UTF8.self).lowercased() }
        guard let name = names.first(where: { !Self.namesOfUTF8.contains($0) }) else {
            self = .utf8
            return
        }
        let extendsASCII =
            Self.namesOfASCII.contains(name) || name.hasPrefix("iso-8859-") || name.hasPrefix("windows-125")
        self = extendsASCII ? .extendsASCII(name) : .other(name)
    }

    /// Like ``JSONEncoding/fault``, for a text with this charset. `isASCII`: no byte of the text is above 0x7F.
    package func fault(isASCII: Bool) -> String? {
        switch self {
        case .utf8: nil
        case .extendsASCII where isASCII: nil
        case .extendsASCII(let name), .other(let name):
            "the declared charset is \"\(name)\", but JSON must be UTF-8 (RFC 8259 §8.1)"
        }
    }
}
