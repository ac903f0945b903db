import Primitives

/// Reads a field value from left to right by the grammar of RFC 9110 §5.6. A method that cannot read its element
/// returns `nil` or `false` and does not move the position, so the caller decides whether the value is an error.
struct FieldScanner {
    private let bytes: [UInt8]
    private var offset = 0
    /// Whether a quote was never closed. All later quotes are then unclosed, too, because they are escaped inside the
    /// open string. The flag avoids a search for an end at each of them, which would take quadratic time.
    private var hasOpenQuote = false

    init(_ text: some StringProtocol) {
        bytes = Array(text.utf8)
    }

    var isAtEnd: Bool { offset == bytes.count }
    var isAtListSeparator: Bool { current == UInt8(ascii: ",") }
    private var current: UInt8? { offset < bytes.count ? bytes[offset] : nil }

    /// Skips optional white space (§5.6.3).
    mutating func skipSpace() {
        while current?.isFieldSpace == true { offset += 1 }
    }

    /// Skips white space and the commas of empty list members, which a recipient ignores (§5.6.1.2).
    mutating func skipListSeparators() {
        while let byte = current, byte.isFieldSpace || byte == UInt8(ascii: ",") { offset += 1 }
    }

    mutating func take(_ text: StaticString) -> Bool {
        let wanted = UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
        guard bytes[offset...].starts(with: wanted) else { return false }
        offset += wanted.count
        return true
    }

    /// Reads one or more token characters (§5.6.2).
    mutating func token() -> String? { take(while: \.isTokenCharacter) }
    mutating func digits() -> String? { take(while: \.isDigit) }

    /// Returns the content of a quoted string (§5.6.4) without quotes and backslashes; `nil` without a closing quote.
    mutating func quotedString() -> String? {
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

    /// Reads the quoted part of an entity tag, and returns it with its quotes (§8.8.3). A backslash is plain text.
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

    /// Reads a list (§5.6.1) with `read` for each member. `nil` when `read` returns `nil` or leaves text of a member.
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

    /// Reads a list like ``list(_:)``, but skips a member for which `read` returns `nil`, and the text behind a member.
    mutating func readableMembers<Member>(_ read: (inout FieldScanner) -> Member?) -> [Member] {
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
