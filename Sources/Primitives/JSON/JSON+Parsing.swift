extension JSON {
    /// The reason and the place of a syntax error in a JSON text.
    package struct SyntaxError: Error, Hashable, Sendable, CustomStringConvertible {
        /// The reason, as words that fit behind "at byte 17: ".
        package var reason: String
        /// The offset in bytes at which the parser found the error.
        package var offset: Int

        /// The place and the reason in one sentence.
        package var description: String { "at byte \(offset): \(reason)" }
    }

    /// Parses one JSON text (RFC 8259) strictly: the text must be UTF-8, have no further bytes behind the value, no two
    /// members of the same name in an object (RFC 7493 §2.3) and no lone surrogates. A byte order mark in front is
    /// skipped (RFC 8259 §8.1).
    ///
    /// - Parameters:
    ///   - depthLimit: how deep arrays and objects may nest; deeper nesting is a syntax error.
    ///   - valueLimit: the number of values that the text may have, which limits the memory of the tree; more values
    ///     are a syntax error.
    /// - Throws: ``SyntaxError``.
    package init(
        parsing bytes: UnsafeRawBufferPointer, depthLimit: Int = 64, valueLimit: Int = .max
    ) throws(SyntaxError) {
        var parser = JSONParser(bytes: bytes, depthLimit: depthLimit, valuesLeft: valueLimit)
        self = try parser.parseText()
    }

    /// Parses one JSON text; see ``init(parsing:depthLimit:valueLimit:)``.
    package init(parsing bytes: [UInt8], depthLimit: Int = 64, valueLimit: Int = .max) throws(SyntaxError) {
        let result = bytes.withUnsafeBytes { buffer in
            Result { () throws(SyntaxError) in try JSON(parsing: buffer, depthLimit: depthLimit, valueLimit: valueLimit)
            }
        }
        self = try result.get()
    }

    /// Parses one JSON text; see ``init(parsing:depthLimit:valueLimit:)``.
    package init(parsing text: String, depthLimit: Int = 64) throws(SyntaxError) {
        try self.init(parsing: Array(text.utf8), depthLimit: depthLimit)
    }
}

/// A recursive-descent parser over bytes. The depth limit also limits the recursion.
private struct JSONParser {
    let bytes: UnsafeRawBufferPointer
    let depthLimit: Int
    var valuesLeft: Int
    var offset = 0

    init(bytes: UnsafeRawBufferPointer, depthLimit: Int, valuesLeft: Int) {
        self.bytes = bytes
        self.depthLimit = depthLimit
        self.valuesLeft = valuesLeft
    }

    mutating func parseText() throws(JSON.SyntaxError) -> JSON {
        if let fault = JSONEncoding(bytes).fault { throw error(fault) }
        if bytes.starts(with: JSONEncoding.byteOrderMark) { offset += JSONEncoding.byteOrderMark.count }
        skipSpace()
        let value = try parseValue(depth: 0)
        skipSpace()
        guard offset == bytes.count else { throw error("unexpected text after the end of the value") }
        return value
    }

    private func error(_ reason: String) -> JSON.SyntaxError {
        JSON.SyntaxError(reason: reason, offset: offset)
    }

    private var current: UInt8? { offset < bytes.count ? bytes[offset] : nil }

    private mutating func skipSpace() {
        while let byte = current, byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D { offset += 1 }
    }

    private mutating func take(_ byte: Character) -> Bool {
        guard current == byte.asciiValue else { return false }
        offset += 1
        return true
    }

    private mutating func parseValue(depth: Int) throws(JSON.SyntaxError) -> JSON {
        guard valuesLeft > 0 else { throw error("the text has too many values") }
        valuesLeft -= 1
        switch current {
        case nil: throw error("the text ends where a value is expected")
        case UInt8(ascii: "{"): return try parseObject(depth: depth)
        case UInt8(ascii: "["): return try parseArray(depth: depth)
        case UInt8(ascii: "\""): return .string(try parseString())
        case UInt8(ascii: "t"): return try parse("true", as: .bool(true))
        case UInt8(ascii: "f"): return try parse("false", as: .bool(false))
        case UInt8(ascii: "n"): return try parse("null", as: .null)
        case .some(UInt8(ascii: "-")), .some(UInt8(ascii: "0")...UInt8(ascii: "9")): return .number(try parseNumber())
        default: throw error("expected a value")
        }
    }

    private mutating func parse(_ word: StaticString, as value: JSON) throws(JSON.SyntaxError) -> JSON {
        let end = offset + word.utf8CodeUnitCount
        guard end <= bytes.count,
            bytes[offset..<end].elementsEqual(UnsafeBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount))
        else { throw error("expected a value") }
        offset = end
        return value
    }

    private mutating func parseArray(depth: Int) throws(JSON.SyntaxError) -> JSON {
        guard depth < depthLimit else { throw error("nested deeper than \(depthLimit) levels") }
        offset += 1
        skipSpace()
        var elements: [JSON] = []
        if take("]") { return .array(elements) }
        while true {
            skipSpace()
            elements.append(try parseValue(depth: depth + 1))
            skipSpace()
            if take("]") { return .array(elements) }
            guard take(",") else { throw error("expected , or ] in the array") }
        }
    }

    private mutating func parseObject(depth: Int) throws(JSON.SyntaxError) -> JSON {
        guard depth < depthLimit else { throw error("nested deeper than \(depthLimit) levels") }
        offset += 1
        skipSpace()
        var members: [JSON.Member] = []
        var names: Set<ExactText> = []
        if take("}") { return .object(members) }
        while true {
            skipSpace()
            guard current == UInt8(ascii: "\"") else { throw error("expected a member name in quotes") }
            let name = try parseString()
            guard names.insert(ExactText(name)).inserted else {
                throw error("the name \"\(name)\" is given twice in one object")
            }
            skipSpace()
            guard take(":") else { throw error("expected : after the member name") }
            skipSpace()
            members.append(JSON.Member(name, try parseValue(depth: depth + 1)))
            skipSpace()
            if take("}") { return .object(members) }
            guard take(",") else { throw error("expected , or } in the object") }
        }
    }

    /// Reads a number (RFC 8259 §6).
    private mutating func parseNumber() throws(JSON.SyntaxError) -> String {
        let start = offset
        _ = take("-")
        if !take("0") { try skipDigits() }
        if take(".") { try skipDigits() }
        if take("e") || take("E") {
            if !take("+") { _ = take("-") }
            try skipDigits()
        }
        return String(decoding: bytes[start..<offset], as: UTF8.self)
    }

    private mutating func skipDigits() throws(JSON.SyntaxError) {
        let start = offset
        while let byte = current, byte >= 0x30, byte <= 0x39 { offset += 1 }
        guard offset > start else { throw error("expected a digit") }
    }

    private mutating func parseString() throws(JSON.SyntaxError) -> String {
        offset += 1
        var text: [UInt8] = []
        var start = offset
        while let byte = current {
            switch byte {
            case UInt8(ascii: "\""):
                text.append(contentsOf: bytes[start..<offset])
                guard let string = String(validating: text, as: UTF8.self) else {
                    throw error("the string is not valid UTF-8")
                }
                offset += 1
                return string
            case UInt8(ascii: "\\"):
                text.append(contentsOf: bytes[start..<offset])
                offset += 1
                try parseEscape(into: &text)
                start = offset
            case 0..<0x20: throw error("a control character in a string must be escaped")
            default: offset += 1
            }
        }
        throw error("the text ends within a string")
    }

    private mutating func parseEscape(into text: inout [UInt8]) throws(JSON.SyntaxError) {
        guard let byte = current else { throw error("the text ends within a string") }
        offset += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(byte)
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "f"): text.append(0x0C)
        case UInt8(ascii: "n"): text.append(0x0A)
        case UInt8(ascii: "r"): text.append(0x0D)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "u"):
            var scalar = try parseHex4()
            if scalar >= 0xD800, scalar < 0xDC00 {
                guard take("\\"), take("u") else { throw error("a high surrogate without a low surrogate") }
                let low = try parseHex4()
                guard low >= 0xDC00, low < 0xE000 else { throw error("a high surrogate without a low surrogate") }
                scalar = 0x10000 + (scalar - 0xD800) << 10 + (low - 0xDC00)
            }
            guard let unicode = Unicode.Scalar(scalar) else { throw error("a low surrogate without a high surrogate") }
            text.append(contentsOf: UTF8.encode(unicode)!)
        default: throw error("unknown escape")
        }
    }

    private mutating func parseHex4() throws(JSON.SyntaxError) -> UInt32 {
        guard offset + 4 <= bytes.count else { throw error("the text ends within an escape") }
        var value: UInt32 = 0
        for byte in bytes[offset..<offset + 4] {
            guard let digit = byte.hexDigitValue else { throw error("expected four hexadecimal digits after \\u") }
            value = value << 4 | UInt32(digit)
        }
        offset += 4
        return value
    }
}
