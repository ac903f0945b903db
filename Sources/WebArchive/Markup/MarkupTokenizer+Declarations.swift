/// Comments, CDATA sections and declarations.
extension MarkupTokenizer {
    /// Skips a DOCTYPE of XML, with quotes, comments and brackets. Returns the range between its brackets, if any.
    mutating func doctype(in bytes: Span<UInt8>) -> Range<Int>? {
        var declarations: Range<Int>?
        var start: Int?
        while position < bytes.count {
            let byte = bytes[position]
            if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") {
                position = bytes.firstIndex(of: byte, from: position + 1) ?? bytes.count
            } else if bytes.hasPrefix("<!--", at: position) {
                position = (bytes.end(of: "-->", from: position + 4) ?? bytes.count) - 1
            } else if bytes.hasPrefix("<?", at: position) {
                position = (bytes.end(of: "?>", from: position + 2) ?? bytes.count) - 1
            } else if byte == UInt8(ascii: "["), start == nil {
                start = position + 1
            } else if byte == UInt8(ascii: "]"), let first = start, declarations == nil {
                declarations = first..<position
            } else if byte == UInt8(ascii: ">"), (start == nil) == (declarations == nil) {
                position += 1
                return declarations
            }
            position += 1
        }
        position = bytes.count
        return start.map { $0..<bytes.count }
    }

    /// Skips a comment, a CDATA section or a declaration; ``position`` is at its exclamation mark. Returns the content
    /// of a section that SVG and HTML end at different places.
    mutating func declaration(in bytes: Span<UInt8>) -> Range<Int>? {
        guard !bytes.hasPrefix("!--", at: position) else {
            position = Self.commentEnd(from: position + 3, dialect, in: bytes)
            return nil
        }
        guard dialect == .xml || foreign.isInside, bytes.hasPrefix("![CDATA[", at: position) else {
            skip(to: ">", in: bytes)
            return nil
        }
        let start = position + 8
        let end = bytes.end(of: "]]>", from: start)
        position = end ?? bytes.count
        let section = start..<(end.map { $0 - 3 } ?? bytes.count)
        guard dialect == .html else {
            collect(section, isSection: true)
            return nil
        }
        return bytes.extracting(section).firstIndex(of: UInt8(ascii: ">"), from: 0).map { _ in section }
    }

    /// Returns the end of a comment. `start` is the place of its text. `<!-->`, `<!--->` and `--!>` end a comment, too.
    private static func commentEnd(from start: Int, _ dialect: Dialect, in bytes: Span<UInt8>) -> Int {
        if dialect == .html {
            if bytes.hasPrefix(">", at: start) { return start + 1 }
            if bytes.hasPrefix("->", at: start) { return start + 2 }
        }
        var index = start
        while let dash = bytes.firstIndex(of: UInt8(ascii: "-"), from: index) {
            if bytes.hasPrefix("-->", at: dash) { return dash + 3 }
            if dialect == .html, bytes.hasPrefix("--!>", at: dash) { return dash + 4 }
            index = dash + 1
        }
        return bytes.count
    }
}
