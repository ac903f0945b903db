import HTTPTypes

extension HTTPField {
    /// A field whose value has the bytes that the characters of `latin1` stand for. `nil` when one stands for no byte.
    public init?(name: Name, latin1: String) {
        if latin1.utf8.allSatisfy({ $0 < 0x80 }) {
            self.init(name: name, lenientValue: latin1.utf8)
            return
        }
        var bytes: [UInt8] = []
        for scalar in latin1.unicodeScalars {
            guard let byte = UInt8(exactly: scalar.value) else { return nil }
            bytes.append(byte)
        }
        self.init(name: name, lenientValue: bytes)
    }

    /// The value with every byte as the character of the same number.
    ///
    /// A value need not be UTF-8 (obs-text, RFC 9110 §5.5), and then `value` is not what was sent: two values that
    /// differ can look the same.
    public var latin1: String {
        withUnsafeBytesOfValue { bytes in
            // Nearly all are ASCII, and then both are the same.
            if bytes.allSatisfy({ $0 < 0x80 }) { return value }
            var scalars = String.UnicodeScalarView()
            for byte in bytes { scalars.append(Unicode.Scalar(byte)) }
            return String(scalars)
        }
    }

    /// The value as a text for people: UTF-8 where it is that, otherwise Latin-1, so that no byte of it is lost.
    public var text: String {
        let utf8 = withUnsafeBytesOfValue { String(validating: $0, as: UTF8.self) }
        return utf8 ?? latin1
    }

    /// Whether the value is the same in every encoding.
    public var isASCII: Bool { withUnsafeBytesOfValue { bytes in bytes.allSatisfy { $0 < 0x80 } } }
}
