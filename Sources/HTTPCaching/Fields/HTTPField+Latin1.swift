import HTTPTypes

extension HTTPField {
    /// Gives the value one byte for each character. `nil` when a character is above U+00FF and so has no byte.
    package init?(name: Name, latin1: String) {
        if latin1.utf8.allSatisfy({ $0 < 0x80 }) {
            self.init(name: name, lenientValue: latin1.utf8)
            return
        }
        let bytes = latin1.unicodeScalars.compactMap { UInt8(exactly: $0.value) }
        guard bytes.count == latin1.unicodeScalars.count else { return nil }
        self.init(name: name, lenientValue: bytes)
    }

    /// The value with a character for each byte, of the same number. `value` is decoded as UTF-8, so a value that is
    /// not UTF-8 (obs-text, RFC 9110 §5.5) differs from the received bytes there, and may look like another value.
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
