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
    /// In the order of the document. They take the effect away from attributes that could leave a replay or loosen its
    /// rules: policies, ``ConnectionHints``, pings, referrer policies, animated links.
    package internal(set) var fixes: [Fix] = []
    /// The text of the first `title`, with white space collapsed; `nil` if there is none or it is empty.
    package private(set) var title: String?

    /// Documents in `srcdoc` attributes are followed to this depth.
    private static let srcdocDepth = 3
    /// The bytes of a title that are read.
    private static let titleLimit = 2000
    private let dialect: MarkupTokenizer.Dialect
    private let depth: Int
    /// The bases of the documents around a `srcdoc`.
    private let outerBases: [String]
    /// The text of the first `base href`.
    var base: String?
    private var bases: [String] { base.map { outerBases + [$0] } ?? outerBases }
    /// The end of the last `style` element outside HTML.
    private var styleEnd = 0
    /// The entities that an XML document declares.
    private var entities: [String: [UInt8]] = [:]

    /// Reads a document in UTF-8. `isXML`: its media type is that of XML, such as SVG or XHTML.
    package init(_ bytes: Span<UInt8>, isXML: Bool) {
        self.init(dialect: isXML ? .xml : .html, depth: 0, outerBases: [])
        read(bytes)
    }

    private init(dialect: MarkupTokenizer.Dialect, depth: Int, outerBases: [String]) {
        self.dialect = dialect
        self.depth = depth
        self.outerBases = outerBases
    }

    /// Reads the document in `srcdoc`.
    mutating func readNested(_ attribute: MarkupTokenizer.Attribute, _ bytes: Span<UInt8>) {
        guard depth < Self.srcdocDepth else {
            fixes.append(Fix(range: attribute.range, replacement: Array("srcdoc=\"\"".utf8)))
            return
        }
        let text = DecodedText.attribute(attribute.value, of: bytes)
        var nested = MarkupReferences(dialect: .html, depth: depth + 1, outerBases: bases)
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
                if !tokenizer.attributes.isEmpty { read(tag, tokenizer.attributes, bytes) }
                if tag.element == .style, !tag.isHTML, !tag.isEmpty {
                    readForeignStyle(from: tag.range.upperBound, bytes)
                }
            case .end: break
            case .text(.style, let range):
                // HTML within a `title` within a `style` of SVG: the outer style has been read to its end.
                if range.lowerBound >= styleEnd { addURLs(of: DecodedText(range, of: bytes)) { _ in [] } }
            case .text(.title, let range):
                if title == nil { title = Self.title(range.prefix(Self.titleLimit), bytes) }
            case .text: break
            case .instruction(let range): readInstruction(range, bytes)
            case .declarations(let range):
                let declarations = EntityDeclarations(bytes.extracting(range))
                entities = declarations.entities
                if !declarations.isHarmless { fixes.append(Fix(range: range, replacement: [])) }
            }
        }
        fixes += ConnectionHints.fixes(in: bytes)
        fixes.sort { $0.range.lowerBound < $1.range.lowerBound }
        references.sort { $0.range.lowerBound < $1.range.lowerBound }
    }

    private static func title(_ range: Range<Int>, _ bytes: Span<UInt8>) -> String? {
        let text = String(decoding: DecodedText.attribute(range, of: bytes).bytes, as: UTF8.self)
        let words = text.split { $0.isWhitespace }
        return words.isEmpty ? nil : words.joined(separator: " ")
    }

    private mutating func readForeignStyle(from start: Int, _ bytes: Span<UInt8>) {
        // A `style` element within another one has no meaning.
        guard start >= styleEnd else { return }
        let style = ForeignStyle(from: start, of: bytes, dialect)
        styleEnd = style.end
        addURLs(of: style.text) { style.escapes(at: $0) }
    }

    /// Reads `<?xml-stylesheet href="…" type="text/css"?>`. A style sheet of another type, such as XSLT, could make any
    /// markup, so it loses its effect.
    private mutating func readInstruction(_ range: Range<Int>, _ bytes: Span<UInt8>) {
        let name = range.lowerBound..<range.lowerBound + 14
        guard bytes.hasPrefix("xml-stylesheet", at: name.lowerBound) else { return }
        var href: (value: Range<Int>, quote: MarkupTokenizer.Quote)?
        var type = "text/css"
        var index = name.upperBound
        while true {
            let start = bytes.skippingSpace(from: index)
            var end = start
            while end < range.upperBound, !bytes[end].isSpace, bytes[end] != UInt8(ascii: "=") { end += 1 }
            let quote = bytes.skippingSpace(from: bytes.skippingSpace(from: end) + 1)
            guard end > start, quote < range.upperBound,
                bytes[quote] == UInt8(ascii: "\"") || bytes[quote] == UInt8(ascii: "'"),
                let close = bytes.firstIndex(of: bytes[quote], from: quote + 1), close < range.upperBound
            else { break }
            switch bytes.text(start..<end) {
            case "href": href = (quote + 1..<close, bytes[quote] == UInt8(ascii: "'") ? .single : .double)
            case "type": type = bytes.text(quote + 1..<close).lowercased()
            default: break
            }
            index = close + 1
        }
        guard type == "text/css", let href, let text = Optional(decoded(href.value, bytes)),
            let url = Self.trimmed(text)
        else {
            fixes.append(Fix(range: name, replacement: Array("no-style-sheet".utf8)))
            return
        }
        add(url, of: text, .style, [.attribute(href.quote, isWhole: false)])
    }

    var isXML: Bool { dialect == .xml }

    /// The value of an attribute.
    func decoded(_ value: Range<Int>, _ bytes: Span<UInt8>) -> DecodedText {
        .attribute(value, of: bytes, entities: entities)
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
        reference.bases = bases
        references.append(reference)
        return references.count - 1
    }

    /// Adds the URLs of CSS. `escapes` are those of the document at a place; `nil`: no text can be written there.
    mutating func addURLs(of text: DecodedText, _ escapes: (Range<Int>) -> [ReferenceEscape]?) {
        for url in CSSScanner.urls(in: text.bytes.span) where !url.text.isEmpty && !url.text.hasPrefix("#") {
            let place = text.place(of: url.range)
            guard let escapes = escapes(place) else { continue }
            var reference = Reference(
                url.text, url.isImport ? .style : .css, place, [url.isQuoted ? .cssString : .cssURL] + escapes)
            reference.bases = bases
            references.append(reference)
        }
    }
}
