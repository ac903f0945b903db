/// Splits an HTML or XML document in UTF-8 into tags, as a browser does (WHATWG HTML §13.2.5; for XML the same rules
/// without raw text). The time is linear in the length of the document. The tokens refer to bytes by their offsets.
/// Usage: call ``next(in:)`` with the same bytes until it returns `nil`.
struct MarkupTokenizer {
    enum Dialect: Sendable { case html, xml }

    /// An attribute of a start tag, with its places in the document.
    struct Attribute {
        var name: MarkupAttribute
        /// From the first byte of the name to the end of the value, with quotes.
        var range: Range<Int>
        /// The name as written.
        var label: Range<Int>
        /// The value without quotes; empty for an attribute without a value.
        var value: Range<Int>
        var quote: Quote
    }

    /// The kind of quotes of an attribute's value.
    enum Quote: Sendable { case none, single, double }

    /// A start tag without its attributes.
    struct Tag {
        var element: MarkupElement?
        /// From `<` to behind `>`.
        var range: Range<Int>
        /// Whether the element certainly is in HTML's namespace; always `false` in XML, where the namespace is not
        /// known.
        var isHTML: Bool
        var isEmpty: Bool
    }

    /// A part of the document that can have URLs, or that changes the meaning of later parts.
    enum Token {
        /// The attributes are in ``MarkupTokenizer/attributes``.
        case start(Tag)
        case end(MarkupElement?, start: Int)
        /// The content of an HTML element that has text and no tags (``MarkupElement/hasRawText``).
        case text(MarkupElement, Range<Int>)
        /// The content of an element within SVG or MathML, up to its first end tag: text without tags if the element is
        /// HTML, and else text and tags.
        case unclear(MarkupElement, Range<Int>)
        /// The content of a CDATA section within SVG or MathML. In HTML it is a comment up to its first `>`.
        case unclearSection(Range<Int>)
        /// The content of an XML processing instruction, from the target on.
        case instruction(Range<Int>)
        /// The declarations of an XML document, between the brackets of its DOCTYPE.
        case declarations(Range<Int>)
    }

    /// The attributes of the last start tag that are in ``MarkupAttribute``, in the order of the document. Of several
    /// attributes with one name only the first counts, as in browsers.
    private(set) var attributes: [Attribute] = []
    let dialect: Dialect
    private let elements: NameTable<MarkupElement>
    private let names: NameTable<MarkupAttribute>
    private(set) var foreign = ForeignContent()
    var position = 0
    /// The element of the raw text that begins at ``position``; `nil` if tags begin there.
    private var rawElement: MarkupElement?
    /// The text in front of the last token, if ``collectsText``.
    private(set) var pieces: [TextPiece] = []
    var collectsText = false

    init(_ dialect: Dialect) {
        self.dialect = dialect
        elements = MarkupNames.elements
        names = MarkupNames.attributes
    }

    /// `nil` at the end of the document. An unfinished tag at the end is no token, as in browsers.
    mutating func next(in bytes: Span<UInt8>) -> Token? {
        if collectsText { pieces.removeAll() }
        if let token = rawText(in: bytes) { return token }
        while let open = bytes.firstIndex(of: UInt8(ascii: "<"), from: position) {
            collect(position..<open)
            position = open + 1
            guard position < bytes.count else {
                collect(open..<position)
                return nil
            }
            let byte = bytes[position]
            switch byte {
            case UInt8(ascii: "/"):
                guard position + 1 < bytes.count, beginsName(bytes[position + 1]) else {
                    skip(to: ">", in: bytes)
                    continue
                }
                position += 1
                return endTag(from: open, in: bytes)
            case UInt8(ascii: "!"):
                if dialect == .xml, bytes.hasPrefix(ignoringCase: "!doctype", at: position) {
                    guard let declarations = doctype(in: bytes) else { continue }
                    return .declarations(declarations)
                }
                if let section = declaration(in: bytes) { return .unclearSection(section) }
            case UInt8(ascii: "?"):
                let start = position + 1
                guard dialect == .xml else {
                    skip(to: ">", in: bytes)
                    continue
                }
                guard let end = bytes.end(of: "?>", from: start) else {
                    position = bytes.count
                    return nil
                }
                position = end
                return .instruction(start..<end - 2)
            case _ where beginsName(byte):
                return startTag(from: open, in: bytes)
            default: collect(open..<position)
            }
        }
        collect(position..<bytes.count)
        position = bytes.count
        return nil
    }

    private mutating func rawText(in bytes: Span<UInt8>) -> Token? {
        guard let element = rawElement else { return nil }
        rawElement = nil
        let start = position
        let isUnclear = foreign.isInside
        position = RawText.end(of: element, from: start, hasScriptEscapes: !isUnclear, in: bytes)
        guard position > start else { return nil }
        return isUnclear ? .unclear(element, start..<position) : .text(element, start..<position)
    }

    /// Notes a part of the text of an XML document.
    mutating func collect(_ range: Range<Int>, isSection: Bool = false) {
        if collectsText, !range.isEmpty { pieces.append(TextPiece(range: range, isSection: isSection)) }
    }

    private func beginsName(_ byte: UInt8) -> Bool {
        byte.isLetter || (dialect == .xml && (byte == UInt8(ascii: "_") || byte >= 0x80))
    }

    private mutating func startTag(from open: Int, in bytes: Span<UInt8>) -> Token? {
        let (element, name) = name(in: bytes)
        guard let isEmpty = readAttributes(in: bytes) else { return nil }
        var tag = Tag(element: element, range: open..<position, isHTML: false, isEmpty: isEmpty)
        guard dialect == .html else { return .start(tag) }
        let isHTMLPoint =
            element == .annotationXML && isHTMLAnnotation(in: bytes)
            || element == .font && attributes.contains { [.color, .face, .size].contains($0.name) }
        foreign.start(element, name, isEmpty: isEmpty, isHTMLPoint: isHTMLPoint)
        tag.isHTML = !foreign.isInside && element != .svg && element != .math
        if let element, element.hasRawText, !isEmpty || tag.isHTML { rawElement = element }
        return .start(tag)
    }

    private mutating func endTag(from open: Int, in bytes: Span<UInt8>) -> Token? {
        let (element, name) = name(in: bytes)
        guard readAttributes(in: bytes) != nil else { return nil }
        if dialect == .html { foreign.end(element, name, in: bytes) }
        return .end(element, start: open)
    }

    /// Reads the name of a tag at ``position``.
    private mutating func name(in bytes: Span<UInt8>) -> (MarkupElement?, Range<Int>) {
        let start = position
        while position < bytes.count, !bytes[position].endsName { position += 1 }
        let local = dialect == .xml ? bytes.localName(start..<position) : start..<position
        return (elements.find(local, in: bytes)?.name, start..<position)
    }

    /// Reads the attributes at ``position`` and the end of the tag. Returns whether the tag ends with `/>`; `nil` if
    /// the document ends within the tag.
    private mutating func readAttributes(in bytes: Span<UInt8>) -> Bool? {
        attributes.removeAll(keepingCapacity: true)
        var seen: UInt64 = 0
        var isEmpty = false
        while position < bytes.count {
            switch bytes[position] {
            case UInt8(ascii: ">"):
                position += 1
                return isEmpty
            case UInt8(ascii: "/"):
                isEmpty = true
                position += 1
            case _ where bytes[position].isSpace:
                isEmpty = false
                position += 1
            default:
                isEmpty = false
                readAttribute(&seen, in: bytes)
            }
        }
        return nil
    }

    private mutating func readAttribute(_ seen: inout UInt64, in bytes: Span<UInt8>) {
        let start = position
        // An equals sign in front of a name is a part of the name.
        position += 1
        while position < bytes.count, !bytes[position].endsName, bytes[position] != UInt8(ascii: "=") { position += 1 }
        let found = dialect == .html ? names.find(start..<position, in: bytes) : localName(start..<position, in: bytes)
        let label = start..<position
        var (value, quote) = (position..<position, Quote.none)
        let sign = bytes.skippingSpace(from: position)
        if sign < bytes.count, bytes[sign] == UInt8(ascii: "=") {
            position = bytes.skippingSpace(from: sign + 1)
            (value, quote) = readValue(in: bytes)
        }
        guard let found, seen & 1 << found.index == 0 else { return }
        if dialect == .html { seen |= 1 << found.index }
        attributes.append(
            Attribute(name: found.name, range: start..<position, label: label, value: value, quote: quote))
    }

    /// XML tells upper and lower case apart. Any prefix may stand for the namespace of `xlink:href`, and other
    /// attributes with a prefix have no meaning. So two attributes of one element can be a `href`, and both count.
    private func localName(_ range: Range<Int>, in bytes: Span<UInt8>) -> (name: MarkupAttribute, index: Int)? {
        let local = bytes.localName(range)
        guard let found = names.find(local, in: bytes), local == range || found.name == .href else { return nil }
        return bytes.text(local) == found.name.xmlName ? found : nil
    }

    private mutating func readValue(in bytes: Span<UInt8>) -> (Range<Int>, Quote) {
        guard position < bytes.count else { return (position..<position, .none) }
        let first = bytes[position]
        if first == UInt8(ascii: "\"") || first == UInt8(ascii: "'") {
            let start = position + 1
            let end = bytes.firstIndex(of: first, from: start)
            position = end.map { $0 + 1 } ?? bytes.count
            return (start..<(end ?? bytes.count), first == UInt8(ascii: "'") ? .single : .double)
        }
        let start = position
        while position < bytes.count, !bytes[position].isSpace, bytes[position] != UInt8(ascii: ">") { position += 1 }
        return (start..<position, .none)
    }

    private func isHTMLAnnotation(in bytes: Span<UInt8>) -> Bool {
        guard let encoding = attributes.first(where: { $0.name == .encoding }) else { return false }
        let text = String(decoding: DecodedText.attribute(encoding.value, of: bytes).bytes, as: UTF8.self)
        return ["text/html", "application/xhtml+xml"].contains(text.lowercased())
    }

    mutating func skip(to byte: Unicode.Scalar, in bytes: Span<UInt8>) {
        position = bytes.firstIndex(of: UInt8(ascii: byte), from: position).map { $0 + 1 } ?? bytes.count
    }
}

/// A part of the text of an XML document.
struct TextPiece {
    var range: Range<Int>
    /// Whether the text is that of a CDATA section, in which character references have no meaning.
    var isSection: Bool
}

/// Tables of all names, made once.
private enum MarkupNames {
    static let elements = NameTable<MarkupElement>()
    static let attributes = NameTable<MarkupAttribute>()
}

extension Span<UInt8> {
    /// The part of an XML name behind its prefix.
    fileprivate func localName(_ name: Range<Int>) -> Range<Int> {
        extracting(name).firstIndex(of: UInt8(ascii: ":"), from: 0).map { name.lowerBound + $0 + 1..<name.upperBound }
            ?? name
    }
}

extension UInt8 {
    @inline(__always)
    fileprivate var endsName: Bool { isSpace || self == UInt8(ascii: ">") || self == UInt8(ascii: "/") }
}
