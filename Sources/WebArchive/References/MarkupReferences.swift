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
    /// The text of the first `base href`.
    var base: String? {
        didSet { bases = base.map { outerBases + [$0] } ?? outerBases }
    }
    /// The bases of the documents around a `srcdoc`.
    private let outerBases: [String]
    private var bases: [String]
    private var styles = OpenStyles()
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
        bases = outerBases
    }

    /// Reads the document in `srcdoc`.
    mutating func readNested(_ attribute: MarkupTokenizer.Attribute, _ bytes: Span<UInt8>) {
        guard !attribute.value.isEmpty else { return }
        guard depth < Self.srcdocDepth else { return empty(attribute, bytes) }
        let text = decoded(attribute.value, bytes)
        var nested = MarkupReferences(dialect: .html, depth: depth + 1, outerBases: bases)
        nested.read(text.bytes.span)
        let escape = ReferenceEscape.attribute(attribute.quote, isWhole: false)
        let inner = nested.references.compactMap { reference in
            text.place(of: reference.range).map { place in
                reference.nested(at: place, integrity: reference.integrity.flatMap(text.place(of:)), escape)
            }
        }
        let changes = nested.fixes.compactMap { fix in
            text.place(of: fix.range).map { Fix(range: $0, replacement: escape.write(fix.replacement)) }
        }
        guard inner.count == nested.references.count, changes.count == nested.fixes.count else {
            return empty(attribute, bytes)
        }
        references += inner
        fixes += changes
    }

    private mutating func read(_ bytes: Span<UInt8>) {
        var tokenizer = MarkupTokenizer(dialect)
        while let token = tokenizer.next(in: bytes) {
            if isXML { styles.append(tokenizer.pieces) }
            switch token {
            case .start(let tag):
                if !tokenizer.attributes.isEmpty { read(tag, tokenizer.attributes, bytes) }
                openMedia(tag, tokenizer.attributes, bytes)
                start(tag, bytes)
            case .end:
                if isXML, let pieces = styles.end() { addSheet(StyleText(pieces, of: bytes, entities), pieces) }
            case .text(.style, let range): addSheet(StyleText(range, of: bytes), [])
            case .text(.title, let range):
                if title == nil { title = Self.title(range.prefix(Self.titleLimit), bytes) }
            case .text: break
            case .unclear(.style, let range): readUnclearStyle(range, bytes)
            case .unclear(_, let range):
                if bytes.extracting(range).firstIndex(of: UInt8(ascii: "<"), from: 0) != nil { remove(range) }
            case .unclearSection(let range): remove(range)
            case .instruction(let range): readInstruction(range, bytes)
            case .declarations(let range): readDeclarations(range, bytes)
            }
            tokenizer.collectsText = !styles.isEmpty
        }
        if isXML {
            styles.append(tokenizer.pieces)
            while !styles.isEmpty {
                if let pieces = styles.end() { addSheet(StyleText(pieces, of: bytes, entities), pieces) }
            }
        }
        fixes += ConnectionHints.fixes(in: bytes)
        fixes.sort { $0.range.lowerBound < $1.range.lowerBound }
        references.sort { $0.range.lowerBound < $1.range.lowerBound }
    }

    private mutating func start(_ tag: MarkupTokenizer.Tag, _ bytes: Span<UInt8>) {
        if isXML {
            if !tag.isEmpty { styles.start(isStyle: tag.element == .style) }
        } else if tag.isEmpty, !tag.isHTML, let element = tag.element, element.hasRawText {
            // `/>` ends the element in SVG, and not in HTML.
            var slash = tag.range.upperBound - 2
            while bytes[slash - 1] == UInt8(ascii: "/") { slash -= 1 }
            fixes.append(Fix(range: slash..<tag.range.upperBound, replacement: Array("></\(element.rawValue)>".utf8)))
        }
    }

    private mutating func remove(_ range: Range<Int>) {
        if !range.isEmpty { fixes.append(Fix(range: range, replacement: [])) }
    }

    /// Reads the content of a `style` element within SVG or MathML of an HTML document.
    private mutating func readUnclearStyle(_ range: Range<Int>, _ bytes: Span<UInt8>) {
        guard let (sheet, markup) = StyleText.unclear(range, of: bytes) else { return remove(range) }
        for range in markup { remove(range) }
        addSheet(sheet, [TextPiece(range: range, isSection: true)])
    }

    /// Adds the URLs of a sheet. If one of them cannot be replaced alone, the whole sheet goes.
    private mutating func addSheet(_ sheet: StyleText, _ pieces: [TextPiece]) {
        let places = sheet.place(of:)
        if !addURLs(of: sheet.text, [], places) {
            for piece in pieces { remove(piece.range) }
        }
    }

    private mutating func readDeclarations(_ range: Range<Int>, _ bytes: Span<UInt8>) {
        let declarations = EntityDeclarations(bytes.extracting(range))
        if declarations.isHarmless { entities = declarations.entities } else { remove(range) }
    }

    private static func title(_ range: Range<Int>, _ bytes: Span<UInt8>) -> String? {
        let text = String(decoding: DecodedText.text(range, of: bytes).bytes, as: UTF8.self)
        let words = text.split { $0.isWhitespace }
        return words.isEmpty ? nil : words.joined(separator: " ")
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
            let url = Self.trimmed(text), let place = text.place(of: url)
        else {
            fixes.append(Fix(range: name, replacement: Array("no-style-sheet".utf8)))
            return
        }
        add(url, of: text, at: place, .style, [.attribute(href.quote, isWhole: false)])
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

    /// Adds the URL at a range of a text; `place` is its place in the document.
    mutating func add(
        _ range: Range<Int>, of text: DecodedText, at place: Range<Int>, _ kind: Reference.Kind,
        _ escapes: [ReferenceEscape]
    ) {
        guard !range.isEmpty, text.bytes[range.lowerBound] != UInt8(ascii: "#") else { return }
        var reference = Reference(String(decoding: text.bytes[range], as: UTF8.self), kind, place, escapes)
        reference.bases = bases
        references.append(reference)
    }

    /// Adds the URLs of CSS. `place` returns the place of a range in the document, if it has one. Returns `false` and
    /// adds no URL if one of them has no place.
    mutating func addURLs(
        of text: DecodedText, _ escapes: [ReferenceEscape], _ place: (Range<Int>) -> Range<Int>?
    ) -> Bool {
        let urls = CSSScanner.urls(in: text.bytes.span).filter { !$0.text.isEmpty && !$0.text.hasPrefix("#") }
        let places = urls.compactMap { place($0.range) }
        guard places.count == urls.count else { return false }
        for (url, place) in zip(urls, places) {
            var reference = Reference(
                url.text, url.isImport ? .style : .css, place, [url.isQuoted ? .cssString : .cssURL] + escapes)
            reference.bases = bases
            references.append(reference)
        }
        return true
    }
}
