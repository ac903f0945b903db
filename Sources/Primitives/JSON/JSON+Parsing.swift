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
    /// `valueLimit` is the most values in the text, which limits the memory of the tree. With `replacesLoneSurrogates`
    /// a lone surrogate is no error but becomes U+FFFD.
    package init(
        parsing bytes: UnsafeRawBufferPointer, depthLimit: Int = 64, valueLimit: Int = .max,
        replacesLoneSurrogates: Bool = false
    ) throws(SyntaxError) {
        if let fault = JSONEncoding(bytes).fault { throw SyntaxError(reason: fault, offset: 0) }
        let tree = JSONTree(bytes: bytes, replacesLoneSurrogates: replacesLoneSurrogates)
        var lexer = JSONLexer(tree, depthLimit: depthLimit, valueLimit: valueLimit)
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
    let replacesLoneSurrogates: Bool
    private(set) var root = JSON.null
    /// The open containers, outermost first.
    private var containers: [Container] = []
    /// The earlier parts of the current string or number.
    private var parts: [UInt8] = []
    private var highSurrogate: UInt16?

    init(bytes: UnsafeRawBufferPointer, replacesLoneSurrogates: Bool) {
        self.bytes = bytes
        self.replacesLoneSurrogates = replacesLoneSurrogates
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
                if replacesLoneSurrogates { return parts.append(contentsOf: Self.replacement) }
                throw JSON.SyntaxError(reason: "a high surrogate without a low surrogate", offset: place)
            }
            highSurrogate = unit
            return
        }
        let code = high.map { 0x10000 + (UInt32($0) - 0xD800) << 10 + UInt32(unit) - 0xDC00 } ?? UInt32(unit)
        guard high == nil || UTF16.isTrailSurrogate(unit), let scalar = Unicode.Scalar(code) else {
            if replacesLoneSurrogates {
                parts.append(contentsOf: Self.replacement)
                // The unit behind a lone high surrogate counts for itself.
                if high != nil { try append(unit, endingAt: offset) }
                return
            }
            let (one, other) = high == nil ? ("low", "high") : ("high", "low")
            throw JSON.SyntaxError(reason: "a \(one) surrogate without a \(other) surrogate", offset: offset)
        }
        parts.append(contentsOf: UTF8.encode(scalar)!)
    }

    /// U+FFFD in UTF-8.
    private static let replacement: [UInt8] = [0xEF, 0xBF, 0xBD]
}
