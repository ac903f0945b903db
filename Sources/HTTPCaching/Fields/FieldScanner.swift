import HTTPTypes
import Primitives
import RawStructuredFieldValues

/// Reads a field value from left to right by the grammar of RFC 9110 §5.6. A method that cannot read its element
/// returns `nil` or `false` and does not move the position, so the caller decides whether the value is an error.
package struct FieldScanner {
    private let bytes: [UInt8]
    private var offset = 0
    /// Whether a string without closing quote was found. All later quotes are escaped inside this string, so no later
    /// quote begins a closed string. ``quotedString()`` then does not search again, which would take quadratic time.
    private var hasOpenQuote = false

    package init(_ text: some StringProtocol) {
        bytes = Array(text.utf8)
    }

    var isAtEnd: Bool { offset == bytes.count }
    var isAtListSeparator: Bool { current == UInt8(ascii: ",") }
    private var current: UInt8? { offset < bytes.count ? bytes[offset] : nil }

    /// Skips optional white space (RFC 9110 §5.6.3).
    package mutating func skipSpace() {
        while current?.isFieldSpace == true { offset += 1 }
    }

    /// Skips white space and the commas of empty list members, which a recipient ignores (RFC 9110 §5.6.1.2).
    mutating func skipListSeparators() {
        while let byte = current, byte.isFieldSpace || byte == UInt8(ascii: ",") { offset += 1 }
    }

    package mutating func take(_ text: StaticString) -> Bool {
        let wanted = UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
        guard bytes[offset...].starts(with: wanted) else { return false }
        offset += wanted.count
        return true
    }

    /// Reads one or more token characters (RFC 9110 §5.6.2).
    package mutating func token() -> String? { take(while: \.isTokenCharacter) }
    mutating func digits() -> String? { take(while: \.isDigit) }

    /// Returns a quoted string (RFC 9110 §5.6.4) without quotes and backslashes; `nil` without a closing quote.
    package mutating func quotedString() -> String? {
        guard current == UInt8(ascii: "\""), !hasOpenQuote else { return nil }
        var content: [UInt8] = []
        var index = offset + 1
        while index < bytes.count {
            switch bytes[index] {
            case UInt8(ascii: "\""):
                offset = index + 1
                return String(decoding: content, as: UTF8.self)
            case UInt8(ascii: "\\") where index + 1 < bytes.count:
                content.append(bytes[index + 1])
                index += 2
            default:
                content.append(bytes[index])
                index += 1
            }
        }
        hasOpenQuote = true
        return nil
    }

    /// Returns the quoted part of an entity tag with the quotes (RFC 9110 §8.8.3). A backslash is plain text.
    mutating func opaqueTag() -> String? {
        guard current == UInt8(ascii: "\"") else { return nil }
        for index in bytes.indices[(offset + 1)...] {
            switch bytes[index] {
            case UInt8(ascii: "\""):
                defer { offset = index + 1 }
                return String(decoding: bytes[offset...index], as: UTF8.self)
            case 0x21...0x7E, 0x80...: continue
            default: return nil
            }
        }
        return nil
    }

    /// Skips a member. A comma inside a quoted string does not end the member, unless the closing quote is missing.
    mutating func skipListMember() {
        while let byte = current, byte != UInt8(ascii: ",") {
            if byte == UInt8(ascii: "\""), quotedString() != nil { continue }
            offset += 1
        }
    }

    /// Reads a list (RFC 9110 §5.6.1), each member with `read`. `nil` when `read` cannot read a member to its end.
    mutating func list<Member>(_ read: (inout FieldScanner) -> Member?) -> [Member]? {
        var members: [Member] = []
        while true {
            skipListSeparators()
            if isAtEnd { return members }
            guard let member = read(&self) else { return nil }
            skipSpace()
            guard isAtEnd || isAtListSeparator else { return nil }
            members.append(member)
        }
    }

    /// Reads a list like ``list(_:)``, but skips a member for which `read` returns `nil`, and text that `read` leaves.
    package mutating func readableMembers<Member>(_ read: (inout FieldScanner) -> Member?) -> [Member] {
        var members: [Member] = []
        while true {
            skipListSeparators()
            if isAtEnd { return members }
            if let member = read(&self) { members.append(member) }
            skipListMember()
        }
    }

    /// Returns the members of a list as written, including empty members, without the white space around them.
    static func listMembers(_ line: String) -> [String] {
        var scanner = FieldScanner(line)
        var members: [String] = []
        repeat {
            let start = scanner.offset
            scanner.skipListMember()
            let member = scanner.bytes[start..<scanner.offset].trimming(while: \.isFieldSpace)
            members.append(String(decoding: member, as: UTF8.self))
        } while scanner.take(",")
        return members
    }

    private mutating func take(while isWanted: (UInt8) -> Bool) -> String? {
        let end = bytes[offset...].firstIndex { !isWanted($0) } ?? bytes.count
        guard end > offset else { return nil }
        defer { offset = end }
        return String(decoding: bytes[offset..<end], as: UTF8.self)
    }
}

/// All lines of a structured field (RFC 8941, RFC 9651) form one value. A malformed value counts as absent.
enum StructuredField {
    /// The most members and parameters of a value; RFC 8941 §3 asks for 1,024 members. A longer value is rejected
    /// before parsing, because the library compares each key with all earlier keys.
    static let maximumCount = 1024

    struct Member {
        var key: String
        /// `nil` for an inner list.
        var item: RFC9651BareItem?
    }

    /// Reads a dictionary. The last member of a repeated key wins. `nil` when the field is absent, empty or malformed.
    static func dictionary(_ fields: HTTPFields, name: HTTPField.Name) -> [Member]? {
        guard var parser = parser(fields, name), let map = try? parser.parseDictionaryFieldValue(), !map.isEmpty else {
            return nil
        }
        return map.map { key, value in
            guard case .item(let item) = value else { return Member(key: key, item: nil) }
            return Member(key: key, item: item.rfc9651BareItem)
        }
    }

    /// Reads a list of strings, without parameters. `nil` when the field is absent, empty, malformed or no such list.
    static func strings(_ fields: HTTPFields, name: HTTPField.Name) -> [String]? {
        guard var parser = parser(fields, name), let list = try? parser.parseListFieldValue(), !list.isEmpty else {
            return nil
        }
        var strings: [String] = []
        for member in list {
            guard case .item(let item) = member, case .string(let text) = item.rfc9651BareItem else { return nil }
            strings.append(text)
        }
        return strings
    }

    private static func parser(_ fields: HTTPFields, _ name: HTTPField.Name) -> StructuredFieldValueParser<[UInt8]>? {
        // `fields[name]` joins the lines with commas (RFC 8941 §4.2). `contains` is cheap, and mostly `false`.
        guard fields.contains(name), let value = fields[name] else { return nil }
        let bytes = Array(value.utf8)
        let separators = bytes.count { $0 == UInt8(ascii: ",") || $0 == UInt8(ascii: ";") }
        return separators < maximumCount ? StructuredFieldValueParser(bytes) : nil
    }
}

extension HTTPField {
    /// Encodes the value in Latin-1, one byte for each character. `nil` when a character is above U+00FF.
    package init?(name: Name, latin1: String) {
        if latin1.utf8.allSatisfy({ $0 < 0x80 }) {
            self.init(name: name, lenientValue: latin1.utf8)
            return
        }
        let bytes = latin1.unicodeScalars.compactMap { UInt8(exactly: $0.value) }
        guard bytes.count == latin1.unicodeScalars.count else { return nil }
        self.init(name: name, lenientValue: bytes)
    }

    /// The value decoded as Latin-1, with one character for each byte. `value` decodes the bytes as UTF-8 instead, so
    /// that two different values with invalid UTF-8 (obs-text, RFC 9110 §5.5) may look the same.
    package var latin1: String {
        withUnsafeBytesOfValue { bytes in
            if bytes.allSatisfy({ $0 < 0x80 }) { return value }
            return String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
        }
    }

    /// The value for display: decoded as UTF-8 when it is valid UTF-8, otherwise as Latin-1, so that no byte is lost.
    package var text: String {
        let utf8 = withUnsafeBytesOfValue { String(validating: $0, as: UTF8.self) }
        return utf8 ?? latin1
    }

    package var isASCII: Bool { withUnsafeBytesOfValue { bytes in bytes.allSatisfy { $0 < 0x80 } } }
}

extension HTTPFields {
    /// The end-to-end fields, which may be forwarded and stored. Removes the fields of a single connection (RFC 9110
    /// §7.6.1): `Connection`, every field that `Connection` names, and the fields known to be hop-by-hop even when
    /// `Connection` does not name them. Also removes the fields between a client and its proxy (RFC 9111 §3.1).
    package func endToEnd() -> HTTPFields {
        // Most messages have no hop-by-hop field, and so no `Connection` that names further fields.
        guard contains(where: { Self.isHopByHop($0.name) }) else { return self }
        // The members of `Connection` in lower case: names of fields, and options such as `close`.
        let named = Set(self[values: .connection].lazy.flatMap(FieldScanner.listMembers).map { $0.lowercased() })
        return filter { field in
            !Self.isHopByHop(field.name) && !named.contains(field.name.canonicalName)
        }
    }

    private static func isHopByHop(_ name: HTTPField.Name) -> Bool {
        // Checking the length rules out most names and costs less than hashing them.
        let length = name.canonicalName.utf8.count
        return hopByHopLengths & 1 << length != 0 && hopByHop.contains(name.canonicalName)
    }

    private static let hopByHopLengths = hopByHop.reduce(0 as UInt64) { $0 | 1 << $1.utf8.count }

    private static let hopByHop: Set<String> = [
        "connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
        "proxy-authenticate", "proxy-authentication-info", "proxy-authorization",
    ]
}
