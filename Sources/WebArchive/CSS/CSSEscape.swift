import Primitives

/// Escapes of CSS (CSS Syntax Module Level 3 §4.3.7): a backslash with up to six hexadecimal digits and one white
/// space, or with any other character than a line end. A backslash at the end of the text is an escape of U+FFFD.
enum CSSEscape {
    /// Moves a position at a backslash behind its escape. If the backslash begins no escape, moves behind the backslash
    /// and returns `false`.
    static func skip(_ position: inout Int, in bytes: Span<UInt8>) -> Bool {
        position += 1
        guard position < bytes.count else { return true }
        guard !bytes[position].isLineEnd else { return false }
        let start = position
        while position < bytes.count, position - start < 6, bytes[position].hexDigitValue != nil { position += 1 }
        if position == start {
            position += 1
        } else if bytes.hasPrefix("\r\n", at: position) {
            position += 2
        } else if position < bytes.count, bytes[position].isSpace {
            position += 1
        }
        return true
    }

    /// Moves a position in a string at a backslash behind its escape. A backslash and a line end have no text.
    static func skipInString(_ position: inout Int, in bytes: Span<UInt8>) {
        if !skip(&position, in: bytes) { position += bytes.hasPrefix("\r\n", at: position) ? 2 : 1 }
    }

    /// Returns the text of a range with its escapes decoded.
    static func decode(_ range: Range<Int>, of bytes: Span<UInt8>, isString: Bool = false) -> [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity(range.count)
        var index = range.lowerBound
        while index < range.upperBound {
            guard bytes[index] == UInt8(ascii: "\\") else {
                text.append(bytes[index])
                index += 1
                continue
            }
            let start = index + 1
            guard start < range.upperBound else {
                if !isString { text.append(contentsOf: "\u{fffd}".utf8) }
                return text
            }
            guard !bytes[start].isLineEnd else {
                skipInString(&index, in: bytes)
                continue
            }
            _ = skip(&index, in: bytes)
            guard bytes[start].hexDigitValue != nil else {
                for offset in start..<index { text.append(bytes[offset]) }
                continue
            }
            var value: UInt32 = 0
            for offset in start..<index {
                if let digit = bytes[offset].hexDigitValue { value = value << 4 | UInt32(digit) }
            }
            let isText = value != 0 && value < 0x110000
            text.append(contentsOf: UTF8.encode(isText ? Unicode.Scalar(value) ?? "\u{fffd}" : "\u{fffd}")!)
        }
        return text
    }

    /// Writes a text for a string in double quotes; `isQuoted`: with the quotes. The text has the same meaning in a
    /// `style` element of HTML, which a `<` could end, and of SVG, which decodes character references.
    static func encode(_ text: [UInt8], isQuoted: Bool) -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(text.count + 2)
        if isQuoted { output.append(UInt8(ascii: "\"")) }
        for byte in text {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "'"), UInt8(ascii: "\\"), UInt8(ascii: "<"), UInt8(ascii: ">"),
                UInt8(ascii: "&"), 0..<0x20, 0x7f:
                output.append(UInt8(ascii: "\\"))
                output.append(contentsOf: String(byte, radix: 16).utf8)
                output.append(UInt8(ascii: " "))
            default: output.append(byte)
            }
        }
        if isQuoted { output.append(UInt8(ascii: "\"")) }
        return output
    }
}

extension UInt8 {
    fileprivate var isLineEnd: Bool { self == 0x0a || self == 0x0d || self == 0x0c }
}
