import Primitives

/// Finds the references of an HTML, XHTML or SVG document, and the parts that a replay must not have.
package struct MarkupReferences {
    /// A change that every rewritten copy of the document gets.
    package struct Fix: Hashable, Sendable {
        package var range: Range<Int>
        package var replacement: [UInt8]
    }

    /// In the order of the document.
    package internal(set) var references: [Reference] = []
    /// In the order of the document, without overlaps with references. These attributes become empty: `http-equiv` of a
    /// policy, `rel` of a link that prepares connections or other pages, and `ping`. `crossorigin=use-credentials`
    /// becomes `anonymous`.
    package internal(set) var fixes: [Fix] = []
    /// The text of the first `title`, with white space collapsed; `nil` if there is none or it is empty.
    package private(set) var title: String?

    /// Documents in `srcdoc` attributes are followed to this depth.
    private static let srcdocDepth = 3
    /// The bytes of a title that are read.
    private static let titleLimit = 2000
    private let dialect: MarkupTokenizer.Dialect
    private let depth: Int
    /// The text of the first `base href`.
    var base: String?
    /// The start of the content of an open `style` element outside HTML.
    private var styleStart: Int?

    /// Reads a document in UTF-8. `isXML`: its media type is that of XML, such as SVG or XHTML.
    package init(_ bytes: Span<UInt8>, isXML: Bool) {
        self.init(dialect: isXML ? .xml : .html, depth: 0, base: nil)
        read(bytes)
    }

    private init(dialect: MarkupTokenizer.Dialect, depth: Int, base: String?) {
        self.dialect = dialect
        self.depth = depth
        self.base = base
    }

    /// Reads the document in `srcdoc`.
    mutating func readNested(_ attribute: MarkupTokenizer.Attribute, _ bytes: Span<UInt8>) {
        guard depth < Self.srcdocDepth else { return }
        let text = DecodedText.attribute(attribute.value, of: bytes)
        var nested = MarkupReferences(dialect: .html, depth: depth + 1, base: base)
        nested.read(text.bytes.span)
        let escape = ReferenceEscape.attribute(attribute.quote, isWhole: false)
        references += nested.references.map { $0.nested(at: text.place(of: $0.range), escape) }
        fixes += nested.fixes.map { Fix(range: text.place(of: $0.range), replacement: escape.write($0.replacement)) }
    }

    private mutating func read(_ bytes: Span<UInt8>) {
        var tokenizer = MarkupTokenizer(dialect)
        while let token = tokenizer.next(in: bytes) {
            switch token {
            case .start(let tag):
                endForeignStyle(at: tag.range.lowerBound, next: tag.range.upperBound, bytes)
                if !tokenizer.attributes.isEmpty { read(tag, tokenizer.attributes, bytes) }
                if tag.element == .style, !tag.isHTML, !tag.isEmpty { styleStart = tag.range.upperBound }
            case .end(.style, let end):
                endForeignStyle(at: end, next: nil, bytes)
            case .end: break
            case .text(.style, let range): addURLs(of: DecodedText(range, of: bytes), [])
            case .text(.title, let range):
                if title == nil { title = Self.title(range.prefix(Self.titleLimit), bytes) }
            case .text: break
            case .instruction(let range):
                endForeignStyle(at: range.lowerBound - 2, next: range.upperBound + 2, bytes)
                readInstruction(range, bytes)
            }
        }
    }

    private static func title(_ range: Range<Int>, _ bytes: Span<UInt8>) -> String? {
        let text = String(decoding: DecodedText.attribute(range, of: bytes).bytes, as: UTF8.self)
        let words = text.split { $0.isWhitespace }
        return words.isEmpty ? nil : words.joined(separator: " ")
    }

    /// Reads the text of an open `style` element of SVG or XHTML, up to `end`. `next` is the place of further text of the
    /// element. Character references are decoded, except in a CDATA section.
    private mutating func endForeignStyle(at end: Int, next: Int?, _ bytes: Span<UInt8>) {
        guard let start = styleStart else { return }
        styleStart = next
        let range = start..<end
        if bytes.extracting(range).end(of: "<![CDATA[", from: 0) != nil {
            addURLs(of: DecodedText(range, of: bytes), [])
        } else {
            addURLs(of: .attribute(range, of: bytes), [.attribute(.double, isWhole: false)])
        }
    }

    /// Reads `<?xml-stylesheet href="…"?>`.
    private mutating func readInstruction(_ range: Range<Int>, _ bytes: Span<UInt8>) {
        guard bytes.hasPrefix("xml-stylesheet", at: range.lowerBound) else { return }
        let content = bytes.extracting(range)
        guard let name = content.end(of: "href=", from: 0), name < content.count else { return }
        let quote = content[name]
        guard quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'"),
            let end = content.firstIndex(of: quote, from: name + 1)
        else { return }
        let value = range.lowerBound + name + 1..<range.lowerBound + end
        let text = DecodedText.attribute(value, of: bytes)
        guard let range = Self.trimmed(text) else { return }
        add(range, of: text, .style, [.attribute(quote == UInt8(ascii: "'") ? .single : .double, isWhole: false)])
    }

    // MARK: - Adding references

    /// The range of a text without the white space around it, which browsers ignore; `nil` for an empty text.
    static func trimmed(_ text: DecodedText) -> Range<Int>? {
        let bytes = text.bytes.span
        let start = bytes.skippingSpace(from: 0)
        var end = bytes.count
        while end > start, bytes[end - 1].isSpace { end -= 1 }
        return start < end ? start..<end : nil
    }

    @discardableResult
    mutating func add(
        _ range: Range<Int>, of text: DecodedText, _ kind: Reference.Kind, _ escapes: [ReferenceEscape]
    ) -> Int? {
        guard !range.isEmpty, text.bytes[range.lowerBound] != UInt8(ascii: "#") else { return nil }
        var reference = Reference(
            String(decoding: text.bytes[range], as: UTF8.self), kind, text.place(of: range), escapes)
        reference.base = base
        references.append(reference)
        return references.count - 1
    }

    /// Adds the URLs of CSS.
    mutating func addURLs(of text: DecodedText, _ escapes: [ReferenceEscape]) {
        for url in CSSScanner.urls(in: text.bytes.span) where !url.text.isEmpty && !url.text.hasPrefix("#") {
            var reference = Reference(
                url.text, url.isImport ? .style : .css, text.place(of: url.range),
                [url.isQuoted ? .cssString : .cssURL] + escapes)
            reference.base = base
            references.append(reference)
        }
    }
}
