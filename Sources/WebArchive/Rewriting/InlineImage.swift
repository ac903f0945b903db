/// An SVG file as a part of an HTML document. Browsers show the symbols of another file only in a document of the same
/// origin, and a replay has an origin of its own.
///
/// ```swift
/// InlineImage.text(of: Array(#"<svg><symbol id="a"/><use href="#a"/></svg>"#.utf8), prefix: "x-")
/// // <svg width="0" … ><symbol id="x-a"/><use href="#x-a"/></svg>
/// ```
package enum InlineImage {
    /// Takes the root element out of the file, hides it, and puts the prefix in front of each id and of each `href` and
    /// `url()` with an id of the file. `image` is in UTF-8, and its URLs are rewritten. Elements other than shapes,
    /// texts, colours and filters go: style sheets would apply to the whole document, and some elements would end the
    /// image in HTML. `nil` for a file without a whole `svg` element, or with attributes or URLs that HTML could read
    /// otherwise.
    package static func text(of image: [UInt8], prefix: String) -> [UInt8]? {
        var writer = InlineImageWriter(image: image, prefix: Array(prefix.utf8))
        guard let part = writer.write(), hasNoOtherURLs(part, than: image) else { return nil }
        return part
    }

    /// Whether HTML finds only URLs of the file, as XML reads it, and elements of the image. HTML has other rules for
    /// capital letters and for namespaces: it reads the attribute `filL`, which XML does not know, as `fill`.
    private static func hasNoOtherURLs(_ part: [UInt8], than image: [UInt8]) -> Bool {
        let found = MarkupReferences(part.span, isXML: false)
        let known = Set(MarkupReferences(image.span, isXML: true).references.map(\.text))
        return found.references.allSatisfy { $0.text.hasPrefix("#") || known.contains($0.text) }
    }
}

private struct InlineImageWriter {
    let image: [UInt8]
    let prefix: [UInt8]
    private var output: [UInt8] = []
    private var position = 0
    /// The open elements of the root; 0 in front of the root and behind it.
    private var depth = 0
    /// The open elements of the outermost one that goes, with itself.
    private var goneDepth = 0

    /// The elements that stay. HTML reads their content as SVG.
    private static let elements: Set<String> = {
        var names: Set<String> = [
            "svg", "g", "defs", "symbol", "use", "path", "rect", "circle", "ellipse", "line", "polyline", "polygon",
            "text", "tspan", "textPath", "image", "linearGradient", "radialGradient", "stop", "clipPath", "mask",
            "pattern", "marker", "filter", "switch",
        ]
        for name in [
            "Blend", "ColorMatrix", "ComponentTransfer", "Composite", "ConvolveMatrix", "DiffuseLighting",
            "DisplacementMap", "DistantLight", "DropShadow", "Flood", "FuncA", "FuncB", "FuncG", "FuncR",
            "GaussianBlur", "Image", "Merge", "MergeNode", "Morphology", "Offset", "PointLight", "SpecularLighting",
            "SpotLight", "Tile", "Turbulence",
        ] { names.insert("fe" + name) }
        return names
    }()
    /// The attributes of the root that would change its place in the document.
    private static let placing: Set<String> = ["width", "height", "style", "aria-hidden", "class", "x", "y"]

    init(image: [UInt8], prefix: [UInt8]) {
        self.image = image
        self.prefix = prefix
    }

    mutating func write() -> [UInt8]? {
        while let open = image.span.firstIndex(of: UInt8(ascii: "<"), from: position) {
            append(image[position..<open])
            position = open
            if starts("<!--") {
                guard skip(to: "-->") else { return nil }
            } else if starts("<![CDATA[") {
                let start = position + 9
                guard skip(to: "]]>") else { return nil }
                // Outside SVG, HTML reads a section as a comment.
                for byte in image[start..<max(start, position - 3)] { appendText(byte) }
            } else if starts("<!") || starts("<?") {
                guard skip(to: ">") else { return nil }
            } else if starts("</") {
                guard endTag() else { return nil }
                if depth == 0, !output.isEmpty { return hasOnlyKnownReferences ? output : nil }
            } else {
                guard startTag() else { return nil }
            }
        }
        return nil
    }

    /// Whether HTML decodes all references as XML does. The entities of a file are unknown to HTML, and those of HTML
    /// are unknown to the file.
    private var hasOnlyKnownReferences: Bool {
        var position = 0
        while let start = output.span.firstIndex(of: UInt8(ascii: "&"), from: position) {
            position = start + 1
            let known: [StaticString] = ["#", "amp;", "lt;", "gt;", "quot;", "apos;"]
            guard known.contains(where: { output.span.hasPrefix($0, at: position) }) else { return false }
        }
        return true
    }

    private mutating func append(_ bytes: some Sequence<UInt8>) {
        if depth > 0, goneDepth == 0 { output.append(contentsOf: bytes) }
    }

    private mutating func appendText(_ byte: UInt8) {
        switch byte {
        case UInt8(ascii: "<"): append("&lt;".utf8)
        case UInt8(ascii: "&"): append("&amp;".utf8)
        default: append([byte])
        }
    }

    /// Copies an end tag. Returns `false` at the end of the file.
    private mutating func endTag() -> Bool {
        position += 2
        let name = word { !Self.endsName($0) }
        guard skip(to: ">") else { return false }
        guard goneDepth == 0 else {
            goneDepth -= 1
            return true
        }
        guard depth > 0 else { return true }
        guard Self.elements.contains(name) else { return false }
        append("</\(name)>".utf8)
        depth -= 1
        return true
    }

    /// Copies a start tag. Returns `false` at the end of the file, for a root other than `svg`, and for an attribute
    /// that HTML could read otherwise.
    private mutating func startTag() -> Bool {
        position += 1
        let name = word { !Self.endsName($0) }
        let isRoot = depth == 0
        guard !isRoot || name == "svg" else { return false }
        let isGone = goneDepth > 0 || !Self.elements.contains(name)
        var text = Array("<\(name)".utf8)
        if isRoot { text += Array(" width=\"0\" height=\"0\" style=\"position:absolute\" aria-hidden=\"true\"".utf8) }
        while position < image.count {
            switch image[position] {
            case UInt8(ascii: ">"):
                position += 1
                return begin(text + [UInt8(ascii: ">")], isGone: isGone)
            case UInt8(ascii: "/"):
                position += 1
                guard position < image.count, image[position] == UInt8(ascii: ">") else { continue }
                position += 1
                if !isGone { append(text + Array("/>".utf8)) }
                return !isRoot
            case let byte where byte.isSpace: position += 1
            default:
                guard let attribute = attribute(isOfRoot: isRoot) else { return false }
                text += attribute
            }
        }
        return false
    }

    private mutating func begin(_ tag: [UInt8], isGone: Bool) -> Bool {
        if isGone {
            goneDepth += 1
        } else {
            depth += 1
            append(tag)
        }
        return true
    }

    /// An attribute with its value in double quotes; of the root only if it has no effect on its place.
    private mutating func attribute(isOfRoot: Bool) -> [UInt8]? {
        let name = word { $0.isLetter || (0x30...0x3a).contains($0) || $0 == 0x2d || $0 == 0x2e || $0 == 0x5f }
        _ = word(\.isSpace)
        guard !name.isEmpty, position < image.count, image[position] == UInt8(ascii: "=") else { return nil }
        position += 1
        _ = word(\.isSpace)
        guard position < image.count else { return nil }
        let quote = image[position]
        guard quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'"),
            let end = image.span.firstIndex(of: quote, from: position + 1)
        else { return nil }
        let value = image[(position + 1)..<end]
        position = end + 1
        if isOfRoot, Self.placing.contains(name) { return [] }
        var text = Array(" \(name)=\"".utf8)
        for byte in named(value, by: name) {
            if byte == UInt8(ascii: "\"") { text += Array("&quot;".utf8) } else { text.append(byte) }
        }
        return text + [UInt8(ascii: "\"")]
    }

    /// The value of an attribute, with the prefix in front of each id of the file.
    private func named(_ value: ArraySlice<UInt8>, by name: String) -> [UInt8] {
        let hash = UInt8(ascii: "#")
        switch name {
        case "id": return prefix + value
        case "href", "xlink:href":
            return value.first == hash ? [hash] + prefix + value.dropFirst() : Array(value)
        default:
            var output: [UInt8] = []
            var rest = value
            while let start = rest.firstRange(of: Array("url(".utf8)) {
                output += rest[..<start.upperBound]
                rest = rest[start.upperBound...]
                let gap = rest.prefix { $0.isSpace || $0 == UInt8(ascii: "'") || $0 == UInt8(ascii: "\"") }
                output += gap
                rest = rest.dropFirst(gap.count)
                if rest.first == hash {
                    output.append(hash)
                    output += prefix
                    rest = rest.dropFirst()
                }
            }
            return output + rest
        }
    }

    private mutating func skip(to text: StaticString) -> Bool {
        guard let end = image.span.end(of: text, from: position) else { return false }
        position = end
        return true
    }

    private mutating func word(_ isPart: (UInt8) -> Bool) -> String {
        let start = position
        while position < image.count, isPart(image[position]) { position += 1 }
        return String(decoding: image[start..<position], as: UTF8.self)
    }

    private func starts(_ text: StaticString) -> Bool { image.span.hasPrefix(text, at: position) }

    private static func endsName(_ byte: UInt8) -> Bool {
        byte.isSpace || byte == UInt8(ascii: "/") || byte == UInt8(ascii: ">")
    }
}
