import Primitives

/// The text of a `style` element in SVG or XHTML: the text and the CDATA sections in it, without comments and elements.
struct ForeignStyle {
    let text: DecodedText
    /// The index behind the element's content.
    let end: Int
    /// The parts of the document that make up the text, in their order; and whether each is a CDATA section, in which
    /// character references have no meaning.
    private let pieces: [(range: Range<Int>, isSection: Bool)]

    /// `start`: behind the start tag. The element ends at `</style`, or at the end of its SVG.
    init(from start: Int, of document: Span<UInt8>, _ dialect: MarkupTokenizer.Dialect) {
        var builder = DecodedText.Builder()
        var pieces: [(range: Range<Int>, isSection: Bool)] = []
        var index = start
        var tokenizer = MarkupTokenizer(dialect)
        scan: while index < document.count {
            let open = document.firstIndex(of: UInt8(ascii: "<"), from: index) ?? document.count
            builder.append(attribute: index..<open, of: document)
            pieces.append((index..<open, false))
            index = open
            guard index < document.count else { break }
            if document.hasPrefix("<![CDATA[", at: index) {
                let end = document.end(of: "]]>", from: index + 9)
                let section = index + 9..<(end.map { $0 - 3 } ?? document.count)
                builder.append(section, of: document)
                pieces.append((section, true))
                index = end ?? document.count
                continue
            }
            let (end, element, isEnd) = tokenizer.skipMarkup(at: index, in: document)
            let leaves = dialect == .html && element?.leavesForeignContent == true
            if isEnd ? element == .style || element == .svg : leaves { break scan }
            if end == index + 1 {
                // A plain character.
                builder.append(index..<end, of: document)
                pieces.append((index..<end, false))
            }
            index = end
        }
        text = builder.text(end: index)
        end = index
        self.pieces = pieces
    }

    /// The escapes of the document at a place of the style; `nil` if the place has other markup within it.
    func escapes(at place: Range<Int>) -> [ReferenceEscape]? {
        var (low, high) = (0, pieces.count)
        while low < high {
            let middle = (low + high) / 2
            if pieces[middle].range.upperBound <= place.lowerBound { low = middle + 1 } else { high = middle }
        }
        guard low < pieces.count, pieces[low].range.lowerBound <= place.lowerBound,
            place.upperBound <= pieces[low].range.upperBound
        else { return nil }
        return pieces[low].isSection ? [] : [.attribute(.double, isWhole: false)]
    }
}
