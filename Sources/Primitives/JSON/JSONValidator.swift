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

extension JSON {
    package struct SyntaxError: Error, Hashable, Sendable, CustomStringConvertible {
        /// The reason, as words that may follow "at byte 17: ".
        package var reason: String
        package var offset: Int
        package var description: String { "at byte \(offset): \(reason)" }

        static func notUTF8(at offset: Int) -> SyntaxError {
            SyntaxError(reason: "the string is not valid UTF-8", offset: offset)
        }
    }

    /// Parses one JSON text (RFC 8259) in UTF-8. Bytes after the value, two members of the same name in an object (RFC
    /// 7493 §2.3), and lone surrogates are errors. A byte order mark at the beginning is skipped (RFC 8259 §8.1).
    /// `valueLimit` is the most values in the text, which limits the memory of the tree.
    package init(
        parsing bytes: UnsafeRawBufferPointer, depthLimit: Int = 64, valueLimit: Int = .max
    ) throws(SyntaxError) {
        if let fault = JSONEncoding(bytes).fault { throw SyntaxError(reason: fault, offset: 0) }
        var lexer = JSONLexer(JSONTree(bytes: bytes), depthLimit: depthLimit, valueLimit: valueLimit)
        try lexer.feed(bytes)
        try lexer.finish()
        self = lexer.sink.root
    }

    package init(parsing bytes: [UInt8], depthLimit: Int = 64, valueLimit: Int = .max) throws(SyntaxError) {
        self = try bytes.withUnsafeBufferPointer { buffer throws(SyntaxError) in
            try JSON(parsing: UnsafeRawBufferPointer(buffer), depthLimit: depthLimit, valueLimit: valueLimit)
        }
    }

    package init(parsing text: String, depthLimit: Int = 64) throws(SyntaxError) {
        try self.init(parsing: Array(text.utf8), depthLimit: depthLimit)
    }
}

private struct JSONTree: JSONSink {
    private struct Container {
        let isObject: Bool
        var elements: [JSON] = []
        var members: [JSON.Member] = []
        var names: Set<ExactText> = []
        /// The name of the member that gets the next value.
        var name = ""
    }

    let bytes: UnsafeRawBufferPointer
    private(set) var root = JSON.null
    /// The open containers, outermost first.
    private var containers: [Container] = []
    /// The earlier parts of the current string or number.
    private var parts: [UInt8] = []
    private var highSurrogate: UInt16?

    init(bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
    }

    mutating func take(_ token: JSONToken, endingAt offset: Int) throws(JSON.SyntaxError) {
        switch token {
        case .part(let part): parts.append(contentsOf: part)
        case .unit(let unit): try append(unit, endingAt: offset)
        case .name(let part):
            let name = try text(part, endingAt: offset)
            let object = containers.count - 1
            guard containers[object].names.insert(ExactText(name)).inserted else {
                throw JSON.SyntaxError(reason: "the name \"\(name)\" is given twice in one object", offset: offset)
            }
            containers[object].name = name
        case .string(let part): add(.string(try text(part, endingAt: offset)))
        case .number(let part): add(.number(try text(part, endingAt: offset)))
        case .word(let value): add(value.map(JSON.bool) ?? .null)
        case .open(let isObject): containers.append(Container(isObject: isObject))
        case .close:
            let container = containers.removeLast()
            add(container.isObject ? .object(container.members) : .array(container.elements))
        }
    }

    private mutating func add(_ value: JSON) {
        guard let last = containers.indices.last else { return root = value }
        if containers[last].isObject {
            containers[last].members.append(JSON.Member(containers[last].name, value))
        } else {
            containers[last].elements.append(value)
        }
    }

    /// Joins the last part of a string or a number with the earlier parts.
    private mutating func text(
        _ part: UnsafeRawBufferPointer, endingAt offset: Int
    ) throws(JSON.SyntaxError) -> String {
        if !parts.isEmpty { parts.append(contentsOf: part) }
        let text = parts.isEmpty ? String(validating: part, as: UTF8.self) : String(validating: parts, as: UTF8.self)
        guard let text else { throw .notUTF8(at: offset - 1) }
        parts.removeAll(keepingCapacity: true)
        return text
    }

    /// Appends an escaped code unit. A high surrogate must precede each low surrogate (RFC 8259 §7).
    private mutating func append(_ unit: UInt16, endingAt offset: Int) throws(JSON.SyntaxError) {
        let high = highSurrogate
        highSurrogate = nil
        if high == nil, UTF16.isLeadSurrogate(unit) {
            // The escape of the low surrogate must directly follow the escape of the high surrogate.
            for (place, byte) in zip(offset..., "\\u".utf8) where place == bytes.count || bytes[place] != byte {
                throw JSON.SyntaxError(reason: "a high surrogate without a low surrogate", offset: place)
            }
            highSurrogate = unit
            return
        }
        let code = high.map { 0x10000 + (UInt32($0) - 0xD800) << 10 + UInt32(unit) - 0xDC00 } ?? UInt32(unit)
        guard high == nil || UTF16.isTrailSurrogate(unit), let scalar = Unicode.Scalar(code) else {
            let (one, other) = high == nil ? ("low", "high") : ("high", "low")
            throw JSON.SyntaxError(reason: "a \(one) surrogate without a \(other) surrogate", offset: offset)
        }
        parts.append(contentsOf: UTF8.encode(scalar)!)
    }
}
