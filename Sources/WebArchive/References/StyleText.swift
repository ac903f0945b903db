/// The style sheet of a `style` element, from the parts of the document that make up its text.
struct StyleText {
    let text: DecodedText
    private let pieces: [TextPiece]
    /// The index in the text behind each piece.
    private let ends: [Int]

    /// A sheet without escapes, from one part of the document.
    init(_ range: Range<Int>, of document: Span<UInt8>) {
        text = DecodedText(range, of: document)
        pieces = [TextPiece(range: range, isSection: true)]
        ends = [range.count]
    }

    /// A sheet of an XML document.
    init(_ pieces: [TextPiece], of document: Span<UInt8>, _ entities: [String: [UInt8]]) {
        var builder = DecodedText.Builder()
        var ends: [Int] = []
        for piece in pieces {
            if piece.isSection {
                builder.append(piece.range, of: document)
            } else {
                builder.append(piece.range, of: document, decodedIn: .text, entities)
            }
            ends.append(builder.count)
        }
        text = builder.text(end: pieces.last?.range.upperBound ?? 0)
        self.pieces = pieces
        self.ends = ends
    }

    /// A sheet within SVG or MathML of an HTML document, and the markup around its CDATA sections. Without that markup,
    /// HTML and SVG read the same sheet. `nil` for any other sheet that they do not read alike.
    static func unclear(_ range: Range<Int>, of document: Span<UInt8>) -> (sheet: StyleText, markup: [Range<Int>])? {
        let bytes = document.extracting(0..<range.upperBound)
        var pieces: [TextPiece] = []
        var markup: [Range<Int>] = []
        var index = range.lowerBound
        while let open = bytes.firstIndex(of: UInt8(ascii: "<"), from: index) {
            guard bytes.hasPrefix("<![CDATA[", at: open), let end = bytes.end(of: "]]>", from: open + 9) else {
                return nil
            }
            pieces.append(TextPiece(range: index..<open, isSection: true))
            pieces.append(TextPiece(range: open + 9..<end - 3, isSection: true))
            markup += [open..<open + 9, end - 3..<end]
            index = end
        }
        pieces.append(TextPiece(range: index..<range.upperBound, isSection: true))
        let sheet = StyleText(pieces, of: document, [:])
        let text = sheet.text.bytes
        let isPlain = DecodedText.text(0..<text.count, of: text.span).bytes == text && !text.contains(UInt8(ascii: "<"))
        return isPlain ? (sheet, markup) : nil
    }

    /// The bytes of the document that give exactly a range of the text; `nil` if other markup is within them.
    func place(of range: Range<Int>) -> Range<Int>? {
        guard let place = text.place(of: range) else { return nil }
        var (low, high) = (0, ends.count)
        while low < high {
            let middle = (low + high) / 2
            if ends[middle] < range.upperBound { low = middle + 1 } else { high = middle }
        }
        guard low < pieces.count, pieces[low].range.lowerBound <= place.lowerBound else { return nil }
        return place.lowerBound..<min(place.upperBound, pieces[low].range.upperBound)
    }
}

/// The open `style` elements of an XML document. Text in another element within them is not theirs.
struct OpenStyles {
    private struct Style {
        var pieces: [TextPiece] = []
        /// The open elements within the style.
        var depth = 0
    }

    private var styles: [Style] = []
    var isEmpty: Bool { styles.isEmpty }

    mutating func append(_ pieces: [TextPiece]) {
        guard let last = styles.indices.last, styles[last].depth == 0 else { return }
        styles[last].pieces += pieces
    }

    mutating func start(isStyle: Bool) {
        if isStyle {
            styles.append(Style())
        } else if let last = styles.indices.last {
            styles[last].depth += 1
        }
    }

    /// Notes an end tag. Returns the text of a style that it ends.
    mutating func end() -> [TextPiece]? {
        guard let last = styles.indices.last else { return nil }
        styles[last].depth -= 1
        return styles[last].depth < 0 ? styles.removeLast().pieces : nil
    }
}
