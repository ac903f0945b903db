// The classes of bytes in the grammar of HTTP fields.

extension UInt8 {
    /// The byte CR.
    @inlinable package static var carriageReturn: UInt8 { 0x0d }
    /// The byte LF.
    @inlinable package static var lineFeed: UInt8 { 0x0a }

    /// Whether the byte may be in a token, such as a field's name (RFC 9110 §5.6.2).
    @inlinable
    package var isTokenCharacter: Bool {
        switch self {
        case 0x30...0x39, 0x41...0x5a, 0x61...0x7a: true
        case 0x21, 0x23...0x27, 0x2a, 0x2b, 0x2d, 0x2e, 0x5e, 0x5f, 0x60, 0x7c, 0x7e: true
        default: false
        }
    }

    /// Whether the byte may be in a field's value (RFC 9110 §5.5): visible ASCII, space, tab and bytes from 0x80 on.
    @inlinable
    package var isFieldContent: Bool { self == 0x09 || (self >= 0x20 && self != 0x7f) }
}
