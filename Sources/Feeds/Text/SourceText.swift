import Primitives

/// Decodes the bytes of a source to UTF-8.
enum SourceText {
    /// Returns the text of an XML document, with only line ends before its first element. `charset` is the
    /// parameter of Content-Type, or `nil`. In this order decide: a byte order mark, `charset`, and the XML declaration
    /// (RFC 7303 §3). If the bytes are no text of this encoding, the next one decides, at last UTF-8 and Windows-1252.
    static func xml(_ body: [UInt8], charset: String?) -> [UInt8] {
        let (mark, length) = mark(of: body)
        let bytes = length == 0 ? body : Array(body.dropFirst(length))
        // A declaration readable as ASCII is in no encoding of two bytes per character, even if it names one.
        let declared = declaredLabel(in: bytes, mark ?? sniffed(bytes))
        let labels = [length > 0 ? nil : charset, length > 0 ? nil : declared]
        var candidates = [mark] + labels.map { $0.flatMap(TextEncoding.init(anyLabel:)) }
        candidates += [sniffed(bytes), .utf8, .windows1252]
        let encodings = candidates.compactMap(\.self)
        for encoding in encodings {
            if let text = encoding.decodeExactly(bytes) { return trimmed(text) }
        }
        return trimmed(TextEncoding.windows1252.decode(bytes))
    }

    /// The text behind white space, a byte order mark and the XML declaration, which may have a label that expat
    /// refuses, such as `437`. The line ends of these parts stay, so that errors name the right line.
    private static func trimmed(_ text: [UInt8]) -> [UInt8] {
        let bytes = text.starts(with: JSONEncoding.byteOrderMark) ? text[3...] : text[...]
        var start = bytes.firstIndex { $0 > 0x20 } ?? bytes.endIndex
        if bytes[start...].starts(with: "<?xml ".utf8), let end = bytes[start...].firstIndex(of: UInt8(ascii: ">")) {
            start = bytes[end...].dropFirst().firstIndex { $0 > 0x20 } ?? bytes.endIndex
        }
        return start == 0 ? text : text[..<start].filter { $0 == 0x0a } + bytes[start...]
    }

    /// The encoding of a byte order mark, and the length of the mark.
    private static func mark(of body: [UInt8]) -> (TextEncoding?, Int) {
        if body.starts(with: JSONEncoding.byteOrderMark) { return (.utf8, 3) }
        if body.starts(with: [0, 0, 0xfe, 0xff]) { return (TextEncoding(anyLabel: "utf-32be"), 4) }
        if body.starts(with: [0xff, 0xfe, 0, 0]) { return (TextEncoding(anyLabel: "utf-32le"), 4) }
        if body.starts(with: [0xfe, 0xff]) { return (TextEncoding(label: "utf-16be"), 2) }
        if body.starts(with: [0xff, 0xfe]) { return (TextEncoding(label: "utf-16le"), 2) }
        return (nil, 0)
    }

    /// The encoding that the bytes of `<?xm` reveal (XML 1.0 §F.1); `nil` if they are ASCII.
    private static func sniffed(_ bytes: [UInt8]) -> TextEncoding? {
        let patterns: [([UInt8], String)] = [
            ([0, 0, 0, 0x3c], "utf-32be"), ([0x3c, 0, 0, 0], "utf-32le"), ([0, 0x3c, 0], "utf-16be"),
            ([0x3c, 0, 0x3f], "utf-16le"), ([0x4c, 0x6f, 0xa7, 0x94], "cp037"),
        ]
        return patterns.first { bytes.starts(with: $0.0) }.flatMap { TextEncoding(anyLabel: $0.1) }
    }

    /// The label in `<?xml … encoding="LABEL"?>`; `nil` without it, and if the label contradicts the bytes.
    private static func declaredLabel(in bytes: [UInt8], _ encoding: TextEncoding?) -> String? {
        var head = Array(bytes.prefix(400))
        if let encoding { head = encoding.decode(Array(bytes.prefix(400))) }
        let start = head.firstIndex { $0 > 0x20 } ?? head.endIndex
        let text = head[start...]
        guard text.starts(with: "<?xml".utf8), let end = text.firstIndex(of: UInt8(ascii: ">")) else { return nil }
        let declaration = String(decoding: text[..<end], as: UTF8.self)
        guard let name = declaration.firstRange(of: "encoding") else { return nil }
        let value = declaration[name.upperBound...].drop { $0.isWhitespace || $0 == "=" }
        guard let quote = value.first, quote == "\"" || quote == "'" else { return nil }
        let label = String(value.dropFirst().prefix { $0 != quote })
        let isWide = TextEncoding(anyLabel: label).map { $0.isUTF16 || $0.name.hasPrefix("UTF-32") } ?? false
        return isWide ? nil : label
    }
}
