// Reads bytes as ASCII, without making strings.

import Primitives

extension UnsafeRawBufferPointer {
    /// The bytes without spaces and tabs at both ends (OWS, RFC 9110 §5.6.3).
    var trimmed: UnsafeRawBufferPointer {
        var start = startIndex
        var end = endIndex
        while start < end, self[start] == 0x20 || self[start] == 0x09 { start += 1 }
        while start < end, self[end - 1] == 0x20 || self[end - 1] == 0x09 { end -= 1 }
        return UnsafeRawBufferPointer(rebasing: self[start..<end])
    }

    /// Whether the bytes are a token, like methods and field names (RFC 9110 §5.6.2).
    var isToken: Bool {
        for byte in self where !byte.isTokenCharacter { return false }
        return !isEmpty
    }

    /// Whether a field's value may contain these bytes (RFC 9110 §5.5): no control characters but tabs. The loop always
    /// visits all bytes, so that the compiler can vectorise it.
    var isFieldContent: Bool {
        var controls: UInt8 = 0
        for byte in self { controls |= (byte < 0x20 && byte != 0x09) || byte == 0x7f ? 1 : 0 }
        return controls == 0
    }

    /// Whether the bytes contain neither white space nor control characters, like a request target.
    var isVisible: Bool {
        var others: UInt8 = 0
        for byte in self { others |= byte <= 0x20 || byte == 0x7f ? 1 : 0 }
        return others == 0
    }

    /// Whether the bytes are a host with or without a port, as in `Host` (RFC 9110 §7.2, RFC 3986 §3.2.2). Empty bytes
    /// are valid, too: they stand for a target without a host.
    var isHostAndPort: Bool {
        var rest = self[...]
        if rest.first == UInt8(ascii: "[") {
            guard let end = rest.firstIndex(of: UInt8(ascii: "]")) else { return false }
            let address = rest[1..<end]
            guard !address.isEmpty, address.allSatisfy({ $0.isHostCharacter || $0 == UInt8(ascii: ":") }) else {
                return false
            }
            rest = rest[(end + 1)...]
        } else {
            rest = rest.drop { $0.isHostCharacter || $0 == UInt8(ascii: "%") }
        }
        return rest.isEmpty || (rest.first == UInt8(ascii: ":") && rest.dropFirst().allSatisfy(\.isDigit))
    }

    /// Whether the bytes equal `text`, ignoring the case of ASCII letters. `text` is written in lower case.
    func equalsIgnoringCase(_ text: StaticString) -> Bool {
        equalsIgnoringCase(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    /// Whether the bytes equal `other`, ignoring the case of ASCII letters.
    func equalsIgnoringCase(_ other: UnsafeRawBufferPointer) -> Bool {
        guard count == other.count else { return false }
        for index in indices where self[index].lowercased != other[index].lowercased { return false }
        return true
    }
}

extension UInt8 {
    /// The lower-case letter for an upper-case letter; any other byte is unchanged.
    var lowercased: UInt8 {
        self >= 0x41 && self <= 0x5a ? self | 0x20 : self
    }

    /// Whether the byte may stand unescaped in a host name (unreserved and sub-delims, RFC 3986 §2).
    var isHostCharacter: Bool {
        switch self {
        case 0x30...0x39, 0x41...0x5a, 0x61...0x7a: true
        case 0x21, 0x24, 0x26...0x2e, 0x3b, 0x3d, 0x5f, 0x7e: true
        default: false
        }
    }
}
