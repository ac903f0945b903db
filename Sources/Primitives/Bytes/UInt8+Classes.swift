// The classes of bytes in the grammars of HTTP and of URLs.

extension UInt8 {
    @inlinable public static var carriageReturn: UInt8 { 0x0d }
    @inlinable public static var lineFeed: UInt8 { 0x0a }

    /// Whether the byte is a decimal digit of ASCII.
    @inlinable public var isDigit: Bool { self >= 0x30 && self <= 0x39 }

    /// Whether the byte is a letter or a digit of ASCII.
    @inlinable
    public var isAlphanumeric: Bool { isDigit || (self | 0x20 >= 0x61 && self | 0x20 <= 0x7a) }

    /// Whether the byte never needs an escape in a URL (RFC 3986 §2.3).
    @inlinable
    public var isUnreserved: Bool {
        switch self {
        case 0x30...0x39, 0x41...0x5a, 0x61...0x7a: true
        case 0x2d, 0x2e, 0x5f, 0x7e: true
        default: false
        }
    }

    /// Whether the byte may be in a token, such as a field's name (RFC 9110 §5.6.2).
    @inlinable
    public var isTokenCharacter: Bool {
        switch self {
        case 0x30...0x39, 0x41...0x5a, 0x61...0x7a: true
        case 0x21, 0x23...0x27, 0x2a, 0x2b, 0x2d, 0x2e, 0x5e, 0x5f, 0x60, 0x7c, 0x7e: true
        default: false
        }
    }

    /// Whether the byte may be in a field's value (RFC 9110 §5.5): visible ASCII, space, tab and bytes from 0x80 on.
    @inlinable
    public var isFieldContent: Bool { self == 0x09 || (self >= 0x20 && self != 0x7f) }

    /// Whether the byte is optional white space of a field (RFC 9110 §5.6.3): space or tab.
    @inlinable public var isFieldSpace: Bool { self == 0x20 || self == 0x09 }
}
