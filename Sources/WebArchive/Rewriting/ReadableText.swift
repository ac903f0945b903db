/// The text of a document as a reader sees it: without tags, scripts and styles, with one line for each block. White
/// space is collapsed as in browsers, except in `pre`. Styles that hide elements have no effect.
///
/// ```swift
/// ReadableText.text(of: Array("<h1>Tea</h1><p>Green &amp; black".utf8))   // "Tea\nGreen & black\n"
/// ```
package struct ReadableText {
    private enum Gap { case none, space, line }

    private var output: [UInt8] = []
    private var gap = Gap.none
    private var preDepth = 0
    /// The open elements without readable content.
    private var hiddenDepth = 0

    /// `document` is in UTF-8.
    package static func text(of document: [UInt8], isXML: Bool = false) -> [UInt8] {
        var text = ReadableText()
        text.read(document.span, isXML ? .xml : .html)
        if !text.output.isEmpty { text.output.append(.lineFeed) }
        return text.output
    }

    private mutating func read(_ bytes: Span<UInt8>, _ dialect: MarkupTokenizer.Dialect) {
        var tokenizer = MarkupTokenizer(dialect)
        tokenizer.collectsText = true
        while let token = tokenizer.next(in: bytes) {
            for piece in tokenizer.pieces { append(piece.range, of: bytes) }
            switch token {
            case .start(let tag): begin(tag.element, isEmpty: tag.isEmpty && !tag.isHTML)
            case .end(let element, _): end(element)
            case .text(let element, let range):
                if element == .textarea || element == .xmp || element == .plaintext { append(range, of: bytes) }
            case .unclear, .unclearSection, .instruction, .declarations: break
            }
        }
        for piece in tokenizer.pieces { append(piece.range, of: bytes) }
    }

    private mutating func begin(_ element: MarkupElement?, isEmpty: Bool) {
        guard let element, !isEmpty else { return }
        if element.isHidden { hiddenDepth += 1 }
        if element == .pre || element == .listing { preDepth += 1 }
        widen(element)
    }

    private mutating func end(_ element: MarkupElement?) {
        guard let element else { return }
        if element.isHidden { hiddenDepth = max(0, hiddenDepth - 1) }
        if element == .pre || element == .listing { preDepth = max(0, preDepth - 1) }
        widen(element)
    }

    private mutating func widen(_ element: MarkupElement) {
        guard hiddenDepth == 0 else { return }
        if element.isBlock {
            gap = .line
        } else if element == .td || element == .th || element == .option, gap == .none {
            gap = .space
        }
    }

    private mutating func append(_ range: Range<Int>, of bytes: Span<UInt8>) {
        guard hiddenDepth == 0, !range.isEmpty else { return }
        for byte in DecodedText.attribute(range, of: bytes).bytes {
            if byte == .lineFeed, preDepth > 0 {
                // Several line feeds in `pre` stay, and a line at the beginning of the text would be empty.
                if gap == .line, !output.isEmpty { output.append(.lineFeed) }
                gap = .line
            } else if byte.isSpace, preDepth == 0 {
                if gap == .none { gap = .space }
            } else {
                if !output.isEmpty, gap != .none { output.append(gap == .line ? .lineFeed : UInt8(ascii: " ")) }
                gap = .none
                output.append(byte)
            }
        }
    }
}

extension MarkupElement {
    fileprivate var isHidden: Bool { [.script, .style, .template, .title].contains(self) }

    /// Whether browsers show the element on lines of its own.
    fileprivate var isBlock: Bool {
        switch self {
        case .address, .article, .aside, .blockquote, .body, .br, .caption, .center, .dd, .details, .dialog, .div, .dl,
            .dt, .fieldset, .figcaption, .figure, .footer, .form, .h1, .h2, .h3, .h4, .h5, .h6, .header, .hgroup, .hr,
            .legend, .li, .listing, .main, .menu, .nav, .ol, .p, .plaintext, .pre, .section, .summary, .table, .tbody,
            .textarea, .tfoot, .thead, .tr, .ul, .xmp:
            true
        default: false
        }
    }
}
