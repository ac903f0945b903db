/// Follows the SVG and MathML elements of an HTML document, whose content is read by other rules (WHATWG HTML
/// §13.2.6.5): `style` and `title` have tags, CDATA sections exist, and `/>` ends an element.
struct ForeignContent {
    private enum Node {
        case svg, math
        /// An element within SVG or MathML that has HTML as its content: `foreignObject`, `desc`, `title`, some
        /// `annotation-xml`.
        case html(MarkupElement)
        /// `mi`, `mo`, `mn`, `ms` or `mtext`. Only `mglyph` and `malignmark` are MathML within them.
        case text(MarkupElement)
    }

    /// Deeper elements are not followed. Browsers have a limit of 512 for all elements.
    private static let limit = 128
    private var nodes: [Node] = []

    /// Whether text and most tags are read by the rules of foreign content.
    var isForeign: Bool {
        switch nodes.last {
        case .svg, .math: true
        case .html, .text, nil: false
        }
    }

    /// Notes a start tag. Returns whether the element is an HTML element.
    mutating func start(_ element: MarkupElement?, isEmpty: Bool, isHTMLAnnotation: Bool, isHTMLFont: Bool) -> Bool {
        if isForeign || isMathGlyph(element) {
            let leaves = element?.leavesForeignContent == true || (element == .font && isHTMLFont)
            guard leaves else {
                if !isEmpty, let element { open(element, isHTMLAnnotation: isHTMLAnnotation) }
                return false
            }
            while isForeign { nodes.removeLast() }
        }
        guard element == .svg || element == .math else { return true }
        if !isEmpty { push(element == .svg ? .svg : .math) }
        return false
    }

    /// Notes an end tag.
    mutating func end(_ element: MarkupElement?) {
        guard let element, !nodes.isEmpty else { return }
        if isForeign, element == .p || element == .br {
            while isForeign { nodes.removeLast() }
            return
        }
        guard let index = nodes.lastIndex(where: { Self.element(of: $0) == element }) else { return }
        nodes.removeSubrange(index...)
    }

    private func isMathGlyph(_ element: MarkupElement?) -> Bool {
        guard case .text? = nodes.last else { return false }
        return element == .mglyph || element == .malignmark
    }

    private mutating func open(_ element: MarkupElement, isHTMLAnnotation: Bool) {
        let isMath = if case .math? = nodes.last { true } else { false }
        switch element {
        case .svg: push(.svg)
        case .math: push(.math)
        case .foreignObject, .desc, .title: if !isMath { push(.html(element)) }
        case .annotationXML: if isMath, isHTMLAnnotation { push(.html(element)) }
        case .mi, .mo, .mn, .ms, .mtext: if isMath { push(.text(element)) }
        default: break
        }
    }

    private mutating func push(_ node: Node) {
        if nodes.count < Self.limit { nodes.append(node) }
    }

    private static func element(of node: Node) -> MarkupElement {
        switch node {
        case .svg: .svg
        case .math: .math
        case .html(let element), .text(let element): element
        }
    }
}
