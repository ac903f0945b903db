import HTTPTypes

extension HTTPField {
    /// Gives the value one byte for each character. `nil` when a character is above U+00FF and so has no byte.
    package init?(name: Name, latin1: String) {
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

    /// Each byte becomes the character with the same number. A value need not be UTF-8 (obs-text, RFC 9110 §5.5):
    /// `value` then differs from the received bytes, and two different values can look the same.
    package var latin1: String {
        withUnsafeBytesOfValue { bytes in
            if bytes.allSatisfy({ $0 < 0x80 }) { return value }
            var scalars = String.UnicodeScalarView()
            for byte in bytes { scalars.append(Unicode.Scalar(byte)) }
            return String(scalars)
        }
    }

    /// For people: decoded as UTF-8 when it is valid UTF-8, otherwise as Latin-1, so that no byte is lost.
    package var text: String {
        let utf8 = withUnsafeBytesOfValue { String(validating: $0, as: UTF8.self) }
        return utf8 ?? latin1
    }

    package var isASCII: Bool { withUnsafeBytesOfValue { bytes in bytes.allSatisfy { $0 < 0x80 } } }
}
