/// The percent-escapes of URLs (RFC 3986 §2.1).
@usableFromInline package enum PercentEscape {
    /// Appends the escape of a byte, in upper case.
    @usableFromInline
    package static func append(_ byte: UInt8, to output: inout [UInt8]) {
        output.append(contentsOf: [UInt8(ascii: "%"), hexDigits[Int(byte >> 4)], hexDigits[Int(byte & 15)]])
    }

    private static let hexDigits = Array("0123456789ABCDEF".utf8)

    /// Decodes all escapes; `nil` if an escape is broken.
    @inlinable
    package static func decode(_ bytes: some Sequence<UInt8>) -> [UInt8]? {
        var output: [UInt8] = []
        var bytes = bytes.makeIterator()
        while let byte = bytes.next() {
            if byte == UInt8(ascii: "%") {
                guard let high = bytes.next()?.hexDigitValue, let low = bytes.next()?.hexDigitValue else { return nil }
                output.append(high << 4 | low)
            } else {
                output.append(byte)
            }
        }
        return output
    }
}
