/// Follows the SVG and MathML elements of an HTML document, within which browsers read some markup by other rules
/// (WHATWG HTML §13.2.6.5). A malformed document can be read in two ways there. So this module does not decide between
/// the ways: within SVG and MathML it takes away all markup for which they differ (``MarkupTokenizer/Token/unclear``).
/// Then a reading is safe if ``isInside`` is true wherever a browser is in SVG or MathML. It may be true elsewhere.
struct ForeignContent {
    /// The rules by which browsers read the start tags within an element.
    private enum Kind {
        /// An SVG or MathML element in which start tags make further such elements.
        case foreign
        /// An SVG or MathML element in which start tags are read as HTML: `foreignObject`, `desc`, `title`, and some
        /// `annotation-xml`.
        case point
        /// Like ``point``, but `mglyph` and `malignmark` are MathML: `mi`, `mo`, `mn`, `ms` and `mtext`.
        case mathText
        case html
    }

    private struct Node {
        /// `nil` for an element without a meaning here.
        var element: MarkupElement?
        var name: Range<Int>
        var kind: Kind
        var isMath: Bool
    }

    /// The open elements from the outermost `svg` or `math` on, without other SVG and MathML elements. There may be
    /// more than in a browser, because only the end tag of the innermost HTML element ends it here.
    private var nodes: [Node] = []
    /// Whether the rest of the document counts as SVG: the elements are too deep, or the document has frame sets, in
    /// which browsers ignore most tags.
    private var isLost = false

    private static let depthLimit = 100

    var isInside: Bool { isLost || !nodes.isEmpty }

    /// Notes a start tag with a name at `name`. `isHTMLPoint`: its attributes make an `annotation-xml` contain HTML, or
    /// make a `font` end the SVG.
    mutating func start(_ element: MarkupElement?, _ name: Range<Int>, isEmpty: Bool, isHTMLPoint: Bool) {
        guard !isLost else { return }
        guard element != .frameset, nodes.count < Self.depthLimit else {
            isLost = true
            return
        }
        if let top = nodes.last, top.kind == .foreign || isMathGlyph(element, in: top) {
            startForeign(element, name, in: top, isEmpty: isEmpty, isHTMLPoint: isHTMLPoint)
        } else if element == .svg || element == .math {
            if !isEmpty { push(element, name, .foreign, isMath: element == .math) }
        } else if !nodes.isEmpty {
            startHTML(element, name)
        }
    }

    private mutating func startHTML(_ element: MarkupElement?, _ name: Range<Int>) {
        if element?.isVoid != true { push(element, name, .html, isMath: false) }
    }

    private mutating func startForeign(
        _ element: MarkupElement?, _ name: Range<Int>, in top: Node, isEmpty: Bool, isHTMLPoint: Bool
    ) {
        if element?.leavesForeignContent == true || (element == .font && isHTMLPoint), top.kind == .foreign {
            leave()
            if !nodes.isEmpty { startHTML(element, name) }
            return
        }
        guard !isEmpty else { return }
        switch element {
        case .svg: push(.svg, name, .foreign, isMath: top.isMath && top.element != .annotationXML)
        case .foreignObject, .desc, .title: push(element, name, top.isMath ? .foreign : .point, isMath: top.isMath)
        case .annotationXML:
            push(element, name, top.isMath && isHTMLPoint ? .point : .foreign, isMath: top.isMath)
        case .mi, .mo, .mn, .ms, .mtext: push(element, name, top.isMath ? .mathText : .foreign, isMath: top.isMath)
        case .math, .mglyph, .malignmark: push(element, name, .foreign, isMath: top.isMath)
        default: break
        }
    }

    /// Notes an end tag.
    mutating func end(_ element: MarkupElement?, _ name: Range<Int>, in bytes: Span<UInt8>) {
        guard !isLost, let top = nodes.last else { return }
        if top.kind == .html {
            if bytes.isSameName(top.name, name) { nodes.removeLast() }
        } else if element == .p || element == .br {
            leave()
        } else if let element {
            // An open HTML element hides the SVG and MathML elements around it.
            var index = nodes.count
            while index > 0, nodes[index - 1].kind != .html {
                index -= 1
                if nodes[index].element == element { return nodes.removeSubrange(index...) }
            }
        }
    }

    private mutating func push(_ element: MarkupElement?, _ name: Range<Int>, _ kind: Kind, isMath: Bool) {
        nodes.append(Node(element: element, name: name, kind: kind, isMath: isMath))
    }

    private mutating func leave() {
        while nodes.last?.kind == .foreign { nodes.removeLast() }
    }

    private func isMathGlyph(_ element: MarkupElement?, in top: Node) -> Bool {
        top.kind == .mathText && (element == .mglyph || element == .malignmark)
    }
}

extension Span<UInt8> {
    /// Compares two names without regard to ASCII case.
    fileprivate func isSameName(_ first: Range<Int>, _ second: Range<Int>) -> Bool {
        guard first.count == second.count else { return false }
        for offset in 0..<first.count
        where self[first.lowerBound + offset].lowercased != self[second.lowerBound + offset].lowercased {
            return false
        }
        return true
    }
}
