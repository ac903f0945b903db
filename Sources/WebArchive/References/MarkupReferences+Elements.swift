import Primitives

/// The attributes of each element that hold a URL.
extension MarkupReferences {
    mutating func read(
        _ tag: MarkupTokenizer.Tag, _ attributes: [MarkupTokenizer.Attribute], _ bytes: Span<UInt8>
    ) {
        let count = references.count
        switch tag.element {
        case .link: readLink(tag, attributes, bytes)
        case .meta: readMeta(attributes, bytes)
        case .input: readInput(attributes, bytes)
        case .base where tag.isHTML || isXML: readBase(attributes, bytes)
        default:
            if tag.element == .set || tag.element == .animate { readAnimation(attributes, bytes) }
            for attribute in attributes { read(attribute, of: tag, bytes) }
        }
        if tag.element == .link || tag.element == .script,
            let integrity = attributes.first(where: { $0.name == .integrity })
        {
            for index in count..<references.count
            where [.style, .script, .preload].contains(references[index].kind) {
                references[index].integrity = integrity.range
            }
        }
        for attribute in attributes {
            switch attribute.name {
            case .style: addURLs(of: attribute, bytes)
            case .crossorigin:
                // The answers of a replay permit all origins, and no credentials.
                let value = decoded(attribute.value, bytes).bytes
                if value.count == 15, value.span.hasPrefix(ignoringCase: "use-credentials", at: 0) {
                    fixes.append(Fix(range: attribute.value, replacement: Array("anonymous".utf8)))
                }
            case .ping, .attributionSource, .referrerPolicy, .csp:
                if !attribute.value.isEmpty { empty(attribute, bytes) }
            case .formaction: add(attribute, .form, bytes)
            case .action where tag.element == .form: add(attribute, .form, bytes)
            default: break
            }
        }
    }

    /// In a document with an origin of its own, a video has subtitles only if the document asks for the video as for a
    /// resource of another origin.
    mutating func openMedia(
        _ tag: MarkupTokenizer.Tag, _ attributes: [MarkupTokenizer.Attribute], _ bytes: Span<UInt8>
    ) {
        guard tag.isHTML, tag.element == .video || tag.element == .audio,
            !attributes.contains(where: { $0.name == .crossorigin })
        else { return }
        let name = tag.range.lowerBound..<tag.range.lowerBound + 6
        fixes.append(Fix(range: name, replacement: bytes.array(name) + Array(" crossorigin=\"\"".utf8)))
    }

    private mutating func read(
        _ attribute: MarkupTokenizer.Attribute, of tag: MarkupTokenizer.Tag, _ bytes: Span<UInt8>
    ) {
        switch attribute.name {
        case .src: if let kind = tag.element?.kindOfSource { add(attribute, kind, bytes) }
        case .srcset where tag.element == .img || tag.element == .source || tag.element == .image:
            addCandidates(attribute, .image, bytes)
        case .poster where tag.element == .video: add(attribute, .image, bytes)
        case .lowsrc where tag.element == .img: add(attribute, .image, bytes)
        case .background where tag.element?.hasBackground == true: add(attribute, .image, bytes)
        case .data where tag.element == .object: add(attribute, .object, bytes)
        case .srcdoc where tag.element == .iframe: readNested(attribute, bytes)
        case .href, .xlinkHref: readHref(attribute, of: tag, bytes)
        case .dataSrc, .dataLazySrc, .dataOriginal: if tag.element?.isLazy == true { add(attribute, .lazy, bytes) }
        case .dataSrcset: if tag.element?.isLazy == true { addCandidates(attribute, .lazy, bytes) }
        case .fill, .stroke, .filter, .mask, .clipPath, .cursor, .markerStart, .markerMid, .markerEnd:
            if !tag.isHTML { addURLs(of: attribute, bytes) }
        default: break
        }
    }

    private mutating func readHref(
        _ attribute: MarkupTokenizer.Attribute, of tag: MarkupTokenizer.Tag, _ bytes: Span<UInt8>
    ) {
        switch tag.element {
        case .a, .area: add(attribute, .link, bytes)
        case .image where !tag.isHTML: add(attribute, .image, bytes)
        case .feImage where !tag.isHTML: add(attribute, .image, bytes)
        case .script where !tag.isHTML: add(attribute, .script, bytes)
        default: if !tag.isHTML { add(attribute, .svg, bytes) }
        }
    }

    private mutating func readBase(_ attributes: [MarkupTokenizer.Attribute], _ bytes: Span<UInt8>) {
        for href in attributes where href.name == .href {
            guard base == nil else {
                // The first base may be in a part of the document that a browser ignores, such as a template.
                if !href.value.isEmpty { empty(href, bytes) }
                continue
            }
            let count = references.count
            add(href, .base, bytes)
            // In XML, a `href` with a prefix is no base.
            if href.label.count == 4 { base = references.count > count ? references[count].text : "" }
        }
    }

    /// An animation can set the URL of a link or an image, and the URLs of CSS properties.
    private mutating func readAnimation(_ attributes: [MarkupTokenizer.Attribute], _ bytes: Span<UInt8>) {
        for attribute in attributes {
            switch attribute.name {
            case .attributeName:
                let text = String(decoding: decoded(attribute.value, bytes).bytes, as: UTF8.self).lowercased()
                if text.contains("href") { empty(attribute, bytes) }
            case .to, .from, .by, .values: addURLs(of: attribute, bytes)
            default: break
            }
        }
    }

    private mutating func readInput(_ attributes: [MarkupTokenizer.Attribute], _ bytes: Span<UInt8>) {
        guard let type = attributes.first(where: { $0.name == .type }),
            let source = attributes.first(where: { $0.name == .src }),
            words(of: type, bytes) == ["image"]
        else { return }
        add(source, .image, bytes)
    }

    private mutating func readMeta(_ attributes: [MarkupTokenizer.Attribute], _ bytes: Span<UInt8>) {
        if let name = attributes.first(where: { $0.name == .name }), words(of: name, bytes) == ["referrer"] {
            empty(name, bytes)
        }
        guard let directive = attributes.first(where: { $0.name == .httpEquiv }) else { return }
        switch words(of: directive, bytes).first {
        case "content-security-policy", "content-security-policy-report-only", "x-dns-prefetch-control", "set-cookie":
            empty(directive, bytes)
        case "refresh":
            guard let content = attributes.first(where: { $0.name == .content }) else { return }
            let text = decoded(content.value, bytes)
            guard let range = RefreshContent.url(in: text.bytes.span) else { return }
            guard let place = text.place(of: range) else { return empty(content, bytes) }
            add(range, of: text, at: place, .refresh, [.refresh, .attribute(content.quote, isWhole: false)])
        default: break
        }
    }

    private mutating func readLink(
        _ tag: MarkupTokenizer.Tag, _ attributes: [MarkupTokenizer.Attribute], _ bytes: Span<UInt8>
    ) {
        // The words that prepare connections are in ConnectionHints.
        let rel = attributes.first { $0.name == .rel }.map { words(of: $0, bytes) } ?? []
        // An element of MathML is a link by its `href` alone.
        guard let kind = rel.lazy.compactMap(Self.kind(ofRel:)).first ?? (tag.isHTML ? nil : .link) else { return }
        for attribute in attributes {
            switch attribute.name {
            case .href: add(attribute, kind, bytes)
            case .imagesrcset: addCandidates(attribute, .preload, bytes)
            default: break
            }
        }
    }

    private static func kind(ofRel word: String) -> Reference.Kind? {
        switch word {
        case "stylesheet": .style
        case "icon", "apple-touch-icon", "apple-touch-icon-precomposed", "apple-touch-startup-image", "mask-icon": .icon
        case "manifest": .manifest
        case "preload": .preload
        case "modulepreload": .script
        default: nil
        }
    }

    /// Takes the effect of an attribute away. Without the attribute, a second one of the same name would count, and
    /// without the whole tag the text beside it could become a tag.
    mutating func empty(_ attribute: MarkupTokenizer.Attribute, _ bytes: Span<UInt8>) {
        fixes.append(Fix(range: attribute.range, replacement: bytes.array(attribute.label) + Array("=\"\"".utf8)))
    }

    /// The words of a value in lower case.
    private func words(of attribute: MarkupTokenizer.Attribute, _ bytes: Span<UInt8>) -> [String] {
        decoded(attribute.value, bytes).bytes.split(whereSeparator: \.isSpace)
            .map { String(decoding: $0, as: UTF8.self).lowercased() }
    }

    private mutating func add(
        _ attribute: MarkupTokenizer.Attribute, _ kind: Reference.Kind, _ bytes: Span<UInt8>
    ) {
        let text = decoded(attribute.value, bytes)
        guard let range = Self.trimmed(text) else { return }
        guard let place = text.place(of: range) else { return empty(attribute, bytes) }
        let isWhole = attribute.quote == .none && place == attribute.value
        add(range, of: text, at: place, kind, ReferenceEscape.ofAttribute(attribute.quote, isWhole: isWhole))
    }

    private mutating func addCandidates(
        _ attribute: MarkupTokenizer.Attribute, _ kind: Reference.Kind, _ bytes: Span<UInt8>
    ) {
        let text = decoded(attribute.value, bytes)
        let ranges = Srcset.urls(in: text.bytes.span).filter { !$0.isEmpty }
        let places = ranges.compactMap(text.place(of:))
        guard places.count == ranges.count else { return empty(attribute, bytes) }
        let escapes = [.candidate] + ReferenceEscape.ofAttribute(attribute.quote, isWhole: false)
        for (range, place) in zip(ranges, places) {
            add(range, of: text, at: place, kind, escapes)
        }
    }

    private mutating func addURLs(of attribute: MarkupTokenizer.Attribute, _ bytes: Span<UInt8>) {
        let text = decoded(attribute.value, bytes)
        if !addURLs(of: text, ReferenceEscape.ofAttribute(attribute.quote, isWhole: false), text.place(of:)) {
            empty(attribute, bytes)
        }
    }
}

extension MarkupElement {
    /// The kind of the URL in `src`; `nil` if the attribute has no meaning.
    fileprivate var kindOfSource: Reference.Kind? {
        switch self {
        case .img, .image: .image
        case .source, .audio, .video: .media
        case .track: .track
        case .embed: .object
        case .iframe, .frame: .frame
        case .script: .script
        default: nil
        }
    }

    fileprivate var hasBackground: Bool {
        [.body, .table, .td, .th, .tr, .tbody, .thead, .tfoot, .col, .colgroup].contains(self)
    }

    fileprivate var isLazy: Bool {
        self == .img || self == .image || self == .source || self == .iframe || self == .video
    }
}
