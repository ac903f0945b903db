import Primitives

/// A URL in a document, with the bytes that a new URL can replace.
package struct Reference: Hashable, Sendable {
    /// The part of the document that contains the URL.
    package enum Kind: String, Hashable, Sendable, CaseIterable {
        /// A style sheet: `link rel=stylesheet`, or `@import`.
        case style
        /// A script, module or module preload.
        case script
        case image
        /// A URL in CSS other than `@import`: an image, a font, a cursor and others.
        case css
        case media, track, frame, object, icon, manifest
        /// `link rel=preload`; the kind of the later use is not known.
        case preload
        /// An external file of an SVG document: `use`, a filter and others.
        case svg
        /// An attribute from which a script loads an image later, such as `data-src`.
        case lazy
        /// The destination of `a` and `area`.
        case link
        /// The destination of a refresh without a click (`meta http-equiv=refresh`).
        case refresh
        /// The destination of a form.
        case form
        /// The base of the document's relative URLs. The first one counts.
        case base
        /// A request of a script, which no document names.
        case request
    }

    /// The URL as written, with all escapes decoded, and without surrounding white space.
    package let text: String
    package let kind: Kind
    /// The bytes that hold the URL, in the whole document.
    package let range: Range<Int>
    /// Writes a new URL at ``range``: from the innermost to the outermost escape.
    let escapes: [ReferenceEscape]
    /// The texts of the `base` elements in front of this reference, that of the outermost document first. Each is
    /// relative to the one before it, and the first to the URL of the document.
    package internal(set) var bases: [String] = []
    /// The attribute `integrity` of the same element. A rewritten copy of the resource does not match the attribute.
    package internal(set) var integrity: Range<Int>?

    init(_ text: String, _ kind: Kind, _ range: Range<Int>, _ escapes: [ReferenceEscape]) {
        self.text = text
        self.kind = kind
        self.range = range
        self.escapes = escapes
    }

    /// The same reference of a document that is the text of an attribute.
    func nested(at range: Range<Int>, integrity: Range<Int>?, _ escape: ReferenceEscape) -> Reference {
        var outer = Reference(text, kind, range, escapes + [escape])
        outer.bases = bases
        outer.integrity = integrity
        return outer
    }

    /// Whether the browser loads the URL together with the document, so that a capture needs it.
    package var isResource: Bool {
        switch kind {
        case .link, .refresh, .form, .base: false
        default: true
        }
    }

    /// The bytes to write at ``range``, so that the reference has another URL.
    package func written(_ url: String) -> [UInt8] {
        var text = Array(url.utf8)
        for escape in escapes { text = escape.write(text) }
        return text
    }
}

/// Writes a text into a syntax, so that the syntax's parser reads the text again.
enum ReferenceEscape: Hashable, Sendable {
    /// The value of an attribute, or a part of it. `isWhole`: the text replaces the whole value, so that an unquoted
    /// value gets quotes.
    case attribute(MarkupTokenizer.Quote, isWhole: Bool)
    /// The text of a CSS string.
    case cssString
    /// An unquoted URL of CSS. It becomes a string in quotes.
    case cssURL
    /// The URL of a candidate in a `srcset`, which neither begins nor ends with a comma.
    case candidate
    /// The URL of a refresh, which ends at a quote.
    case refresh

    /// The escapes of a URL that is a whole attribute, or a part of it. The arrays are made once.
    static func ofAttribute(_ quote: MarkupTokenizer.Quote, isWhole: Bool) -> [ReferenceEscape] {
        switch quote {
        case .none: isWhole ? wholeBare : partBare
        case .single: singleQuoted
        case .double: doubleQuoted
        }
    }

    private static let wholeBare = [ReferenceEscape.attribute(.none, isWhole: true)]
    private static let partBare = [ReferenceEscape.attribute(.none, isWhole: false)]
    private static let singleQuoted = [ReferenceEscape.attribute(.single, isWhole: false)]
    private static let doubleQuoted = [ReferenceEscape.attribute(.double, isWhole: false)]

    func write(_ text: [UInt8]) -> [UInt8] {
        switch self {
        case .attribute(let quote, let isWhole): Self.attribute(text, quote, isWhole)
        case .cssString: CSSEscape.encode(text, isQuoted: false)
        case .cssURL: CSSEscape.encode(text, isQuoted: true)
        case .candidate: Self.candidate(text)
        case .refresh: Array(PercentEscape.text(of: text) { $0 != 0x22 && $0 != 0x27 }.utf8)
        }
    }

    private static func attribute(_ text: [UInt8], _ quote: MarkupTokenizer.Quote, _ isWhole: Bool) -> [UInt8] {
        let isBare = quote == .none && !isWhole
        let isQuoted = quote == .none && isWhole
        var output = [UInt8]()
        if isQuoted {
            output.reserveCapacity(text.count + 2)
            output.append(UInt8(ascii: "\""))
        }
        // The bytes in front of this index are written. Most texts have no byte to escape.
        var written = 0
        let bytes = text.span
        for index in bytes.indices {
            let byte = bytes[index]
            guard byte.mayNeedEscape else { continue }
            let escape: StaticString
            switch byte {
            case UInt8(ascii: "&"): escape = "&amp;"
            case UInt8(ascii: "\"") where quote != .single: escape = "&quot;"
            case UInt8(ascii: "'") where quote == .single || isBare: escape = "&#39;"
            case UInt8(ascii: "<"): escape = "&lt;"
            case UInt8(ascii: ">") where isBare: escape = "&gt;"
            case 0x09 where isBare: escape = "&#9;"
            case 0x0a where isBare: escape = "&#10;"
            case 0x0c where isBare: escape = "&#12;"
            case 0x0d where isBare: escape = "&#13;"
            case 0x20 where isBare: escape = "&#32;"
            default: continue
            }
            output += text[written..<index]
            output.append(contentsOf: UnsafeBufferPointer(start: escape.utf8Start, count: escape.utf8CodeUnitCount))
            written = index + 1
        }
        guard written > 0 || isQuoted else { return text }
        output += text[written...]
        if isQuoted { output.append(UInt8(ascii: "\"")) }
        return output
    }

    private static func candidate(_ text: [UInt8]) -> [UInt8] {
        let comma = UInt8(ascii: ",")
        guard text.first == comma || text.last == comma else { return text }
        let first = text.prefix { $0 == comma }.count
        let last = text.dropFirst(first).reversed().prefix { $0 == comma }.count
        let escape = Array("%2C".utf8)
        return Array(repeating: escape, count: first).flatMap(\.self) + text[first..<text.count - last]
            + Array(repeating: escape, count: last).flatMap(\.self)
    }
}

extension UInt8 {
    /// Whether an attribute may need the byte as a character reference.
    @inline(__always)
    fileprivate var mayNeedEscape: Bool { self <= 0x27 || self == UInt8(ascii: "<") || self == UInt8(ascii: ">") }
}
