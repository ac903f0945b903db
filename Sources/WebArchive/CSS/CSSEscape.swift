import Primitives

/// Escapes of CSS (CSS Syntax Module Level 3 §4.3.7): a backslash with up to six hexadecimal digits and one white
/// space, or with any other character than a line end.
enum CSSEscape {
    /// Moves a position at a backslash behind its escape. If the backslash begins no escape, moves behind the backslash
    /// and returns `false`.
    static func skip(_ position: inout Int, in bytes: Span<UInt8>) -> Bool {
        position += 1
        guard position < bytes.count, !bytes[position].isLineEnd else { return false }
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

    /// Returns the text of a range with its escapes decoded. A backslash in front of a line end in a string is removed
    /// with the line end.
    static func decode(_ range: Range<Int>, of bytes: Span<UInt8>) -> [UInt8] {
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
            guard skip(&index, in: bytes), index <= range.upperBound else {
                // A line end, or the end of the text, follows the backslash.
                index = min(bytes.hasPrefix("\r\n", at: start) ? start + 2 : start + 1, range.upperBound)
                continue
            }
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

    /// Writes a text for a string in double quotes, without the quotes. `<` is escaped, so that the text cannot end a
    /// `style` element.
    static func encode(_ text: some Sequence<UInt8>) -> [UInt8] {
        var output: [UInt8] = []
        for byte in text {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "'"), UInt8(ascii: "\\"), UInt8(ascii: "<"), 0..<0x20, 0x7f:
                output.append(UInt8(ascii: "\\"))
                output.append(contentsOf: String(byte, radix: 16).utf8)
                output.append(UInt8(ascii: " "))
            default: output.append(byte)
            }
        }
        return output
    }
}

extension UInt8 {
    fileprivate var isLineEnd: Bool { self == 0x0a || self == 0x0d || self == 0x0c }
}
