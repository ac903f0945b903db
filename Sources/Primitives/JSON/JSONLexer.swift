enum JSONToken {
    /// The next bytes of a string or a number, never empty; more bytes of it follow.
    case part(UnsafeRawBufferPointer)
    /// An escaped UTF-16 code unit of a string; more of the string follows.
    case unit(UInt16)
    /// The last bytes of a member's name, of another string, or of a number.
    case name(UnsafeRawBufferPointer), string(UnsafeRawBufferPointer), number(UnsafeRawBufferPointer)
    /// `true`, `false`, or `nil` for `null`.
    case word(Bool?)
    case open(isObject: Bool)
    case close
}

protocol JSONSink {
    /// Throws an error to stop the lexer. `offset` is the number of bytes up to the end of the token.
    mutating func take(_ token: JSONToken, endingAt offset: Int) throws(JSON.SyntaxError)
}

/// The grammar of JSON (RFC 8259): reads a text that arrives in pieces, and passes its tokens to a sink. It skips a
/// byte order mark at the beginning, and checks neither UTF-8 nor surrogates.
struct JSONLexer<Sink: JSONSink> {
    private enum State: UInt8 {
        case mark, value, firstElement, firstMember, name, colon, afterValue, string, escape, digits, word
        case number, minus, zero, integer, point, fraction, exponent, exponentSign, exponentDigits
    }

    private(set) var sink: Sink
    /// The number of values that have begun.
    private(set) var valueCount = 0
    private let depthLimit: Int
    private let valueLimit: Int
    private var state = State.mark
    private var offset = 0
    /// The open containers, outermost first: `true` for an object, `false` for an array.
    private var containers: [Bool] = []
    private var isName = false
    /// The current word, or the value of the digits of the current `\u` escape so far, and the offset of its start.
    private var word: StaticString = ""
    private var unit: UInt16 = 0
    private var start = 0

    init(_ sink: Sink, depthLimit: Int, valueLimit: Int = .max) {
        self.sink = sink
        self.depthLimit = depthLimit
        self.valueLimit = valueLimit
    }

    /// Whether the lexer is within a string, and not within an escape.
    var isInString: Bool { state == .string }
    /// Whether the bytes so far are a whole JSON text.
    var isComplete: Bool { containers.isEmpty && (state == .afterValue || isNumber) }

    /// Throws the first fault; the lexer must not be used any further.
    mutating func feed(_ piece: UnsafeRawBufferPointer) throws(JSON.SyntaxError) {
        guard let bytes = piece.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return }
        let base = offset
        while offset - base < piece.count {
            let index = offset - base
            let byte = bytes[index]
            switch state {
            case .string:
                var end = index
                while end < piece.count, !bytes[end].endsPart { end += 1 }
                let part = UnsafeRawBufferPointer(start: bytes + index, count: end - index)
                offset = base + end
                if end < piece.count, bytes[end] == UInt8(ascii: "\"") {
                    go(isName ? .colon : .afterValue)
                    try sink.take(isName ? .name(part) : .string(part), endingAt: offset)
                    continue
                }
                if !part.isEmpty { try sink.take(.part(part), endingAt: offset) }
                if end == piece.count { return }
                guard bytes[end] == UInt8(ascii: "\\") else { throw fault() }
                go(.escape)
            case .number, .minus, .zero, .integer, .point, .fraction, .exponent, .exponentSign, .exponentDigits:
                var (state, end) = (state, index)
                while end < piece.count, let next = Self.number(state, bytes[end]) { (state, end) = (next, end + 1) }
                let part = UnsafeRawBufferPointer(start: bytes + index, count: end - index)
                (self.state, offset) = (state, base + end)
                if end == piece.count { return try sink.take(.part(part), endingAt: offset) }
                guard isNumber else { throw fault() }
                self.state = .afterValue
                try sink.take(.number(part), endingAt: offset)
            case .value, .firstElement, .firstMember, .name, .colon, .afterValue:
                var end = index
                while end < piece.count, bytes[end].isSpace { end += 1 }
                offset = base + end
                if end < piece.count { try readStructure(bytes[end]) }
            case .escape: try readEscape(byte)
            case .digits:
                guard let digit = byte.hexDigitValue else {
                    throw fault(at: start, isAtEnd: base + piece.count < start + 4)
                }
                unit = unit << 4 | UInt16(digit)
                go(offset == start + 3 ? .string : .digits)
                if state == .string { try sink.take(.unit(unit), endingAt: offset) }
            case .word: try readWord(byte)
            case .mark where offset == 0 && byte != JSONEncoding.byteOrderMark[0]: state = .value
            case .mark where byte != JSONEncoding.byteOrderMark[offset]: throw fault(at: 0)
            case .mark: go(offset == 2 ? .value : .mark)
            }
        }
    }

    /// Throws if the text is not complete.
    mutating func finish() throws(JSON.SyntaxError) {
        guard isComplete else {
            let isBegun = state == .word || state == .digits
            throw fault(at: isBegun ? start : state == .mark ? 0 : offset, isAtEnd: true)
        }
        if isNumber { try sink.take(.number(UnsafeRawBufferPointer(start: nil, count: 0)), endingAt: offset) }
    }

    @inline(__always)
    private mutating func go(_ next: State) {
        state = next
        offset += 1
    }

    private mutating func readStructure(_ byte: UInt8) throws(JSON.SyntaxError) {
        switch (state, byte) {
        case (.afterValue, UInt8(ascii: "}")) where containers.last == true,
            (.afterValue, UInt8(ascii: "]")) where containers.last == false,
            (.firstMember, UInt8(ascii: "}")), (.firstElement, UInt8(ascii: "]")):
            containers.removeLast()
            go(.afterValue)
            try sink.take(.close, endingAt: offset)
        case (.afterValue, UInt8(ascii: ",")) where !containers.isEmpty: go(containers.last! ? .name : .value)
        case (.colon, UInt8(ascii: ":")): go(.value)
        case (.firstMember, UInt8(ascii: "\"")), (.name, UInt8(ascii: "\"")):
            isName = true
            go(.string)
        case (.value, _), (.firstElement, _): try beginValue(byte)
        default: throw fault()
        }
    }

    private mutating func beginValue(_ byte: UInt8) throws(JSON.SyntaxError) {
        guard valueCount < valueLimit else { throw fault() }
        switch byte {
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            guard containers.count < depthLimit else {
                throw JSON.SyntaxError(reason: "nested deeper than \(depthLimit) levels", offset: offset)
            }
            let isObject = byte == UInt8(ascii: "{")
            containers.append(isObject)
            go(isObject ? .firstMember : .firstElement)
            try sink.take(.open(isObject: isObject), endingAt: offset)
        case UInt8(ascii: "\""):
            isName = false
            go(.string)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): state = .number
        case UInt8(ascii: "t"): begin("true")
        case UInt8(ascii: "f"): begin("false")
        case UInt8(ascii: "n"): begin("null")
        default: throw fault()
        }
        valueCount += 1
    }

    private mutating func begin(_ word: StaticString) {
        (self.word, start) = (word, offset)
        go(.word)
    }

    private mutating func readWord(_ byte: UInt8) throws(JSON.SyntaxError) {
        guard byte == word.utf8Start[offset - start] else { throw fault(at: start) }
        go(.word)
        guard offset - start == word.utf8CodeUnitCount else { return }
        state = .afterValue
        let first = word.utf8Start.pointee
        try sink.take(.word(first == UInt8(ascii: "n") ? nil : first == UInt8(ascii: "t")), endingAt: offset)
    }

    private mutating func readEscape(_ byte: UInt8) throws(JSON.SyntaxError) {
        go(.string)
        let unit: UInt8
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): unit = byte
        case UInt8(ascii: "b"): unit = 0x08
        case UInt8(ascii: "f"): unit = 0x0C
        case UInt8(ascii: "n"): unit = 0x0A
        case UInt8(ascii: "r"): unit = 0x0D
        case UInt8(ascii: "t"): unit = 0x09
        case UInt8(ascii: "u"):
            (state, start, self.unit) = (.digits, offset, 0)
            return
        default: throw JSON.SyntaxError(reason: "unknown escape", offset: offset)
        }
        try sink.take(.unit(UInt16(unit)), endingAt: offset)
    }

    /// Whether the bytes so far end in a complete number. Further digits may follow.
    private var isNumber: Bool {
        switch state {
        case .zero, .integer, .fraction, .exponentDigits: true
        default: false
        }
    }

    /// The state after the next byte of a number (RFC 8259 §6); `nil` when the byte does not belong to the number.
    private static func number(_ state: State, _ byte: UInt8) -> State? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"):
            switch state {
            case .integer, .fraction, .exponentDigits: state
            case .number, .minus: byte == UInt8(ascii: "0") ? .zero : .integer
            case .point: .fraction
            case .exponent, .exponentSign: .exponentDigits
            default: nil
            }
        case UInt8(ascii: "."): state == .zero || state == .integer ? .point : nil
        case UInt8(ascii: "e"), UInt8(ascii: "E"):
            state == .zero || state == .integer || state == .fraction ? .exponent : nil
        case UInt8(ascii: "-"): state == .number ? .minus : state == .exponent ? .exponentSign : nil
        case UInt8(ascii: "+"): state == .exponent ? .exponentSign : nil
        default: nil
        }
    }

    /// The error for the current byte, which the state does not allow; with `isAtEnd`, for the early end of the text.
    @inline(never)
    private func fault(at place: Int? = nil, isAtEnd: Bool = false) -> JSON.SyntaxError {
        let reason =
            switch state {
            case .mark, .value, .firstElement:
                valueCount >= valueLimit
                    ? "the text has too many values"
                    : isAtEnd && (state != .mark || offset == 0)
                        ? "the text ends where a value is expected" : "expected a value"
            case .word: "expected a value"
            case .firstMember, .name: "expected a member name in quotes"
            case .colon: "expected : after the member name"
            case .afterValue, .zero, .integer, .fraction, .exponentDigits:
                containers.last.map { $0 ? "expected , or } in the object" : "expected , or ] in the array" }
                    ?? "unexpected text after the end of the value"
            case .number, .minus, .point, .exponent, .exponentSign: "expected a digit"
            case .digits: isAtEnd ? "the text ends within an escape" : "expected four hexadecimal digits after \\u"
            case .string where !isAtEnd: "a control character in a string must be escaped"
            case .string, .escape: "the text ends within a string"
            }
        return JSON.SyntaxError(reason: reason, offset: place ?? offset)
    }
}

extension JSONLexer: Sendable where Sink: Sendable {}

extension UInt8 {
    fileprivate var isSpace: Bool { self == 0x20 || self == 0x0A || self == 0x0D || self == 0x09 }
    fileprivate var endsPart: Bool { self < 0x20 || self == UInt8(ascii: "\"") || self == UInt8(ascii: "\\") }
}
