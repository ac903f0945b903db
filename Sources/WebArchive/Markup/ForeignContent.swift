/// Follows the SVG and MathML elements of an HTML document. Their content is read by other rules (WHATWG HTML
/// §13.2.6.5): `style` and `title` have tags, CDATA sections exist, and `/>` ends an element. A reduced tree builder:
/// it keeps the elements that change these rules, and the numbers of HTML elements around them. Malformed documents can
/// still be read in another way than by a browser. So the safety of a replay depends on its Content-Security-Policy,
/// and on ``ConnectionHints`` where that policy has no effect.
struct ForeignContent {
    private enum Namespace { case svg, math }

    private struct Node {
        var element: MarkupElement
        var namespace: Namespace
        /// Whether start tags within the element are read as HTML: `foreignObject`, `desc`, `title`, and some
        /// `annotation-xml`; and, but for `mglyph` and `malignmark`, `mi`, `mo`, `mn`, `ms` and `mtext`.
        var hasHTML = false
        /// The open HTML elements directly within the element.
        var htmlElements = 0
    }

    private var nodes: [Node] = []
    /// How many of ``nodes`` have each element, so that an end tag of no open element costs no search.
    private var counts = ElementCounts()
    /// How many of ``nodes`` have HTML.
    private var htmlPoints = 0
    /// The open HTML elements outside SVG and MathML. An end tag of one of them also ends the SVG within it.
    private var htmlCounts = ElementCounts()

    /// Whether the current element is an SVG or MathML element, so that CDATA sections and `/>` have a meaning.
    var isForeign: Bool { nodes.last.map { !$0.hasHTML || $0.htmlElements == 0 } ?? false }
    private var readsForeign: Bool { nodes.last.map { !$0.hasHTML } ?? false }

    /// Notes a start tag. Returns whether the element is an HTML element.
    mutating func start(_ element: MarkupElement?, isEmpty: Bool, isHTMLAnnotation: Bool, isHTMLFont: Bool) -> Bool {
        if readsForeign || isMathGlyph(element) || isSVGAnnotation(element) {
            let leaves = element?.leavesForeignContent == true || (element == .font && isHTMLFont)
            guard leaves, readsForeign else {
                if !isEmpty, let element { open(element, isHTMLAnnotation: isHTMLAnnotation) }
                return false
            }
            while readsForeign { pop() }
        }
        guard element == .svg || element == .math else {
            if element?.isVoid != true { count(element, 1) }
            return true
        }
        if !isEmpty, let element { push(Node(element: element, namespace: element == .svg ? .svg : .math)) }
        return false
    }

    /// Notes an end tag.
    mutating func end(_ element: MarkupElement?) {
        guard !nodes.isEmpty, isForeign else {
            // An open HTML element hides the SVG and MathML elements around it.
            if element.map({ counts[$0] == 0 }) ?? true { count(element, -1) }
            return
        }
        guard let element else { return }
        if element == .p || element == .br {
            while readsForeign { pop() }
        } else if counts[element] > 0 {
            while nodes.last?.element != element { pop() }
            pop()
        } else if htmlCounts[element] > 0, htmlPoints == 0 {
            nodes = []
            counts = ElementCounts()
            count(element, -1)
        }
    }

    private mutating func count(_ element: MarkupElement?, _ change: Int) {
        if let last = nodes.indices.last {
            nodes[last].htmlElements = max(0, nodes[last].htmlElements + change)
        } else if let element, element != .body {
            htmlCounts[element] = max(0, htmlCounts[element] + change)
        }
    }

    private func isMathGlyph(_ element: MarkupElement?) -> Bool {
        guard let node = nodes.last, node.hasHTML, node.htmlElements == 0, node.namespace == .math,
            node.element != .annotationXML
        else { return false }
        return element == .mglyph || element == .malignmark
    }

    /// `svg` in a plain `annotation-xml` is SVG.
    private func isSVGAnnotation(_ element: MarkupElement?) -> Bool {
        nodes.last?.element == .annotationXML && element == .svg && readsForeign
    }

    private mutating func open(_ element: MarkupElement, isHTMLAnnotation: Bool) {
        guard let outer = nodes.last else { return }
        var node = Node(element: element, namespace: isSVGAnnotation(element) ? .svg : outer.namespace)
        switch element {
        case .svg, .math, .mglyph, .malignmark: break
        case .foreignObject, .desc, .title:
            guard outer.namespace == .svg else { return }
            node.hasHTML = true
        case .annotationXML:
            guard outer.namespace == .math else { return }
            node.hasHTML = isHTMLAnnotation
        case .mi, .mo, .mn, .ms, .mtext:
            guard outer.namespace == .math else { return }
            node.hasHTML = true
        default: return
        }
        push(node)
    }

    private mutating func push(_ node: Node) {
        nodes.append(node)
        htmlPoints += node.hasHTML ? 1 : 0
        counts[node.element] += 1
    }

    private mutating func pop() {
        let node = nodes.removeLast()
        htmlPoints -= node.hasHTML ? 1 : 0
        counts[node.element] -= 1
    }
}

/// A number for each element.
private struct ElementCounts {
    private var counts = [Int32](repeating: 0, count: MarkupElement.allCases.count)

    subscript(element: MarkupElement) -> Int {
        get { Int(counts[element.order]) }
        set { counts[element.order] = Int32(newValue) }
    }
}
