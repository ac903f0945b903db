/// Checks whether bytes that arrive in pieces are one JSON text (RFC 8259). The validator builds no tree, so it can
/// check a body of a gigabyte while the body passes.
///
/// Feed it the pieces in order, then call ``finish()``. A byte order mark in front is skipped. The validator accepts
/// the same texts as `JSON(parsing:)`, and also objects with two members of the same name and lone surrogates in
/// escapes, because RFC 8259 allows them. Nesting deeper than ``depthLimit`` counts as invalid.
package struct JSONValidator: Sendable {
    /// How deep arrays and objects may nest.
    package static let depthLimit = 512

    private enum State: UInt8 {
        case start, secondOfMark, thirdOfMark
        case value, firstElement, firstMember, name, colon, afterValue
        case string, escape, unicode
        case minus, zero, integer, point, fraction, exponent, exponentSign, exponentDigits
        case word
        case failed
    }

    private var state: State = .start
    /// The first four bytes, as far as they have arrived; the first byte is the lowest.
    private var beginning: UInt32 = 0
    private var beginningCount = 0
    private var isUTF8 = true
    /// Whether the strings so far contain no byte above 0x7F. Outside of strings such a byte is never JSON.
    package private(set) var isASCII = true
    /// Whether each open container, outermost first, is an object.
    private var containers: [Bool] = []
    private var stringIsName = false
    /// The missing bytes of `true`, `false` or `null`, in reverse order.
    private var rest: [UInt8] = []
    private var hexDigitsLeft = 0
    private var utf8 = UTF8Machine()
    /// The first byte of the value, and whether any object has a member.
    private var firstByte: UInt8 = 0
    private var hasMember = false

    /// A validator before the first byte.
    package init() {}

    /// Whether the bytes so far can no longer become JSON. The validator ignores further pieces, so the caller may
    /// stop.
    package var isFailed: Bool { state == .failed }

    /// Checks the next piece.
    package mutating func feed(_ piece: UnsafeRawBufferPointer) {
        for byte in piece.prefix(4 - beginningCount) {
            beginning |= UInt32(byte) << (8 * beginningCount)
            beginningCount += 1
        }
        for byte in piece {
            if state == .failed { return }
            step(byte)
        }
    }

    /// The reason why the text is not JSON, when its encoding is the reason, as words that fit behind "the body is not
    /// JSON: ". `nil` for valid JSON, and for text that is invalid for another reason.
    package var encodingFault: String? {
        if finish() { return nil }
        let bytes = (0..<beginningCount).map { UInt8(truncatingIfNeeded: beginning >> (8 * $0)) }
        return JSONEncoding(bytes).fault ?? (isUTF8 ? nil : "a string is not UTF-8 (RFC 8259 §8.1)")
    }

    /// Whether the text is `null` or an object without members. The value is meaningful only when ``finish()`` returns
    /// `true`.
    package var isEmpty: Bool {
        firstByte == UInt8(ascii: "n") || (firstByte == UInt8(ascii: "{") && !hasMember)
    }

    /// Whether the bytes so far are exactly one JSON text.
    package func finish() -> Bool {
        guard containers.isEmpty else { return false }
        switch state {
        case .afterValue, .zero, .integer, .fraction, .exponentDigits: return true
        default: return false
        }
    }

    private mutating func step(_ byte: UInt8) {
        switch state {
        case .string: stepString(byte)
        case .escape: stepEscape(byte)
        case .unicode: stepUnicode(byte)
        case .word: stepWord(byte)
        case .minus, .zero, .integer, .point, .fraction, .exponent, .exponentSign, .exponentDigits: stepNumber(byte)
        case .failed: return
        case .start where byte == JSONEncoding.byteOrderMark[0]: state = .secondOfMark
        case .start:
            state = .value
            step(byte)
        case .secondOfMark: state = byte == JSONEncoding.byteOrderMark[1] ? .thirdOfMark : .failed
        case .thirdOfMark: state = byte == JSONEncoding.byteOrderMark[2] ? .value : .failed
        case .value, .firstElement, .firstMember, .name, .colon, .afterValue:
            if byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { return }
            stepStructure(byte)
        }
    }

    private mutating func stepStructure(_ byte: UInt8) {
        switch (state, byte) {
        case (.firstElement, UInt8(ascii: "]")), (.firstMember, UInt8(ascii: "}")): close()
        case (.value, _), (.firstElement, _): beginValue(byte)
        case (.firstMember, UInt8(ascii: "\"")), (.name, UInt8(ascii: "\"")):
            stringIsName = true
            hasMember = true
            state = .string
        case (.colon, UInt8(ascii: ":")): state = .value
        case (.afterValue, UInt8(ascii: ",")) where containers.last == true: state = .name
        case (.afterValue, UInt8(ascii: ",")) where containers.last == false: state = .value
        case (.afterValue, UInt8(ascii: "}")) where containers.last == true: close()
        case (.afterValue, UInt8(ascii: "]")) where containers.last == false: close()
        default: state = .failed
        }
    }

    private mutating func beginValue(_ byte: UInt8) {
        if containers.isEmpty { firstByte = byte }
        switch byte {
        case UInt8(ascii: "{"): open(object: true)
        case UInt8(ascii: "["): open(object: false)
        case UInt8(ascii: "\""):
            stringIsName = false
            state = .string
        case UInt8(ascii: "-"): state = .minus
        case UInt8(ascii: "0"): state = .zero
        case UInt8(ascii: "1")...UInt8(ascii: "9"): state = .integer
        case UInt8(ascii: "t"): expect("rue")
        case UInt8(ascii: "f"): expect("alse")
        case UInt8(ascii: "n"): expect("ull")
        default: state = .failed
        }
    }

    private mutating func open(object: Bool) {
        guard containers.count < Self.depthLimit else {
            state = .failed
            return
        }
        containers.append(object)
        state = object ? .firstMember : .firstElement
    }

    private mutating func close() {
        containers.removeLast()
        state = .afterValue
    }

    private mutating func expect(_ word: String) {
        rest = word.utf8.reversed()
        state = .word
    }

    private mutating func stepWord(_ byte: UInt8) {
        guard rest.popLast() == byte else {
            state = .failed
            return
        }
        if rest.isEmpty { state = .afterValue }
    }

    private mutating func stepString(_ byte: UInt8) {
        guard utf8.accept(byte) else {
            isUTF8 = false
            state = .failed
            return
        }
        switch byte {
        case UInt8(ascii: "\""): state = stringIsName ? .colon : .afterValue
        case UInt8(ascii: "\\"): state = .escape
        case 0..<0x20: state = .failed
        case 0x80...: isASCII = false
        default: break
        }
    }

    private mutating func stepEscape(_ byte: UInt8) {
        switch byte {
        case UInt8(ascii: "u"):
            hexDigitsLeft = 4
            state = .unicode
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            state = .string
        default: state = .failed
        }
    }

    private mutating func stepUnicode(_ byte: UInt8) {
        guard byte.hexDigitValue != nil else {
            state = .failed
            return
        }
        hexDigitsLeft -= 1
        if hexDigitsLeft == 0 { state = .string }
    }

    private mutating func stepNumber(_ byte: UInt8) {
        let isDigit = byte >= 0x30 && byte <= 0x39
        switch (state, byte) {
        case (.minus, UInt8(ascii: "0")): state = .zero
        case (.minus, _) where isDigit: state = .integer
        case (.integer, _) where isDigit: break
        case (.zero, UInt8(ascii: ".")), (.integer, UInt8(ascii: ".")): state = .point
        case (.point, _) where isDigit, (.fraction, _) where isDigit: state = .fraction
        case (.zero, 0x65), (.zero, 0x45), (.integer, 0x65), (.integer, 0x45), (.fraction, 0x65), (.fraction, 0x45):
            state = .exponent
        case (.exponent, UInt8(ascii: "+")), (.exponent, UInt8(ascii: "-")): state = .exponentSign
        case (.exponent, _) where isDigit, (.exponentSign, _) where isDigit, (.exponentDigits, _) where isDigit:
            state = .exponentDigits
        case (.zero, _), (.integer, _), (.fraction, _), (.exponentDigits, _):
            // The previous byte ended the number; this byte belongs to the structure around it.
            state = .afterValue
            step(byte)
        default: state = .failed
        }
    }
}

/// Accepts well-formed UTF-8 byte by byte (Unicode, table 3-7): no overlong forms, no surrogates.
private struct UTF8Machine: Sendable {
    private var continuationsLeft = 0
    private var lowest: UInt8 = 0x80
    private var highest: UInt8 = 0xBF

    mutating func accept(_ byte: UInt8) -> Bool {
        if continuationsLeft > 0 {
            guard byte >= lowest, byte <= highest else { return false }
            continuationsLeft -= 1
            (lowest, highest) = (0x80, 0xBF)
            return true
        }
        switch byte {
        case 0..<0x80: return true
        case 0xC2...0xDF: continuationsLeft = 1
        case 0xE0: (continuationsLeft, lowest) = (2, 0xA0)
        case 0xED: (continuationsLeft, highest) = (2, 0x9F)
        case 0xE1...0xEF: continuationsLeft = 2
        case 0xF0: (continuationsLeft, lowest) = (3, 0x90)
        case 0xF1...0xF3: continuationsLeft = 3
        case 0xF4: (continuationsLeft, highest) = (3, 0x8F)
        default: return false
        }
        return true
    }
}
