// Reads bytes as ASCII, without making strings.

import Primitives

extension UnsafeRawBufferPointer {
    /// The bytes without spaces and tabs at both ends (OWS, RFC 9110 §5.6.3).
    var trimmed: UnsafeRawBufferPointer {
        var start = startIndex
        var end = endIndex
        while start < end, self[start].isFieldSpace { start += 1 }
        while start < end, self[end - 1].isFieldSpace { end -= 1 }
        return UnsafeRawBufferPointer(rebasing: self[start..<end])
    }

    /// Whether the bytes are a token, as in methods and field names (RFC 9110 §5.6.2).
    var isToken: Bool {
        for byte in self where !byte.isTokenCharacter { return false }
        return !isEmpty
    }

    /// Whether all control characters are tabs (RFC 9110 §5.5). The loop has no early exit, so that it is vectorised.
    var isFieldContent: Bool {
        var controls: UInt8 = 0
        for byte in self { controls |= (byte < 0x20 && byte != 0x09) || byte == 0x7f ? 1 : 0 }
        return controls == 0
    }

    /// Whether there are neither white space nor control characters, as in a request target.
    var isVisible: Bool {
        var others: UInt8 = 0
        for byte in self { others |= byte <= 0x20 || byte == 0x7f ? 1 : 0 }
        return others == 0
    }

    /// Whether the bytes are a host with an optional port (RFC 9110 §7.2, RFC 3986 §3.2.2). The host may be empty.
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

    /// Splits a target in absolute form, `http://host/path?query`, which a server must accept (RFC 9112 §3.2.2, RFC
    /// 9110 §4.2), into the authority and the rest. The rest may begin with `?`, or be empty. `nil` for another form,
    /// and for an authority that is empty or not just a host and a port.
    var absoluteForm: (authority: UnsafeRawBufferPointer, rest: UnsafeRawBufferPointer)? {
        for scheme in ["http://", "https://"] as [StaticString] {
            let length = scheme.utf8CodeUnitCount
            guard count > length, UnsafeRawBufferPointer(rebasing: self[..<length]).equalsIgnoringCase(scheme) else {
                continue
            }
            let path = self[length...].firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") } ?? count
            let authority = UnsafeRawBufferPointer(rebasing: self[length..<path])
            guard !authority.isEmpty, authority.isHostAndPort else { return nil }
            return (authority, .init(rebasing: self[path...]))
        }
        return nil
    }

    func equalsIgnoringCase(_ text: StaticString) -> Bool {
        equalsIgnoringCase(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    /// Ignores the case of ASCII letters only.
    func equalsIgnoringCase(_ other: UnsafeRawBufferPointer) -> Bool {
        guard count == other.count else { return false }
        for index in indices where self[index].lowercased != other[index].lowercased { return false }
        return true
    }
}

extension UInt8 {
    /// Changes only upper-case letters.
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
