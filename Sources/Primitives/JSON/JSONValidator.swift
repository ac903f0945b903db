/// Checks whether bytes that arrive in pieces are one JSON text (RFC 8259). The validator builds no tree, so it can
/// check a body of any size. It accepts the same texts as `JSON(parsing:)`, and also repeated names and lone
/// surrogates, which RFC 8259 allows. Nesting deeper than ``depthLimit`` counts as invalid.
package struct JSONValidator: Sendable {
    package static let depthLimit = 512
    private var lexer = JSONLexer(StringCheck(), depthLimit: Self.depthLimit)
    private var hasFault = false
    /// The first four bytes of the text, or fewer if fewer have arrived.
    private var beginning: [UInt8] = []

    package init() {}

    /// Whether the bytes so far cannot begin a JSON text. The validator then ignores further pieces.
    package var isFailed: Bool { hasFault || !isUTF8 }
    /// Whether the strings so far contain no byte above 0x7F. Outside of strings such a byte makes the text invalid.
    package var isASCII: Bool { lexer.sink.isASCII }
    /// Whether the strings so far are UTF-8. A character's bytes must end before an escape, and before its string ends.
    private var isUTF8: Bool { lexer.sink.isUTF8 && (!lexer.sink.utf8.isOpen || lexer.isInString && !hasFault) }

    package mutating func feed(_ piece: UnsafeRawBufferPointer) {
        if beginning.count < 4 { beginning += piece.prefix(4 - beginning.count) }
        if !isFailed { hasFault = (try? lexer.feed(piece)) == nil }
    }

    /// Like ``JSONEncoding/fault``; `nil` for valid JSON, and for a text that is invalid for another reason.
    package var encodingFault: String? {
        if finish() { return nil }
        return JSONEncoding(beginning).fault ?? (isUTF8 ? nil : "a string is not UTF-8 (RFC 8259 §8.1)")
    }

    /// Whether the text is `null` or an object without members; meaningful only when ``finish()`` returns `true`.
    package var isEmpty: Bool { lexer.valueCount == 1 && lexer.sink.hasEmptyValue }

    /// Whether the bytes so far are exactly one JSON text.
    package func finish() -> Bool { !hasFault && lexer.isComplete }
}

private struct StringCheck: JSONSink, Sendable {
    var utf8 = UTF8Machine()
    var isUTF8 = true
    var isASCII = true
    /// Whether the text contains `null` or an object. If the text is a single value, this value is then empty.
    var hasEmptyValue = false

    @inline(__always)
    mutating func take(_ token: JSONToken, endingAt offset: Int) throws(JSON.SyntaxError) {
        switch token {
        case .part(let text): isUTF8 = accept(text)
        case .name(let text), .string(let text): isUTF8 = accept(text) && !utf8.isOpen
        case .unit: isUTF8 = !utf8.isOpen
        case .open(isObject: true), .word(nil): hasEmptyValue = true
        case .open, .close, .word, .number: return
        }
        if !isUTF8 { throw .notUTF8(at: offset) }
    }

    private mutating func accept(_ text: UnsafeRawBufferPointer) -> Bool {
        for byte in text where byte >= 0x80 || utf8.isOpen {
            isASCII = false
            guard utf8.accept(byte) else { return false }
        }
        return true
    }
}

/// Accepts well-formed UTF-8 byte by byte (Unicode, table 3-7): no overlong forms, no surrogates.
private struct UTF8Machine: Sendable {
    private var continuationsLeft = 0
    private var lowest: UInt8 = 0x80
    private var highest: UInt8 = 0xBF
    var isOpen: Bool { continuationsLeft > 0 }

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
