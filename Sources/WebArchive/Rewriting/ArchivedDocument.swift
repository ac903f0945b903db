import Primitives

/// A captured body that refers to other URLs, as text in UTF-8.
///
/// ```swift
/// let format = ArchivedDocument.Format(of: .frame, contentType: "text/html")!
/// let document = ArchivedDocument(body, format, contentType: "text/html", url: url)
/// document.found                                  // the URLs that a capture needs
/// document.rewritten { url, _ in "/view/" + url }  // the body for a replay
/// ```
package struct ArchivedDocument: Sendable {
    /// A language with references that are found and rewritten.
    package enum Format: Hashable, Sendable {
        case html
        /// SVG and XHTML.
        case xml
        case css
        /// A web app manifest.
        case manifest
        case script

        /// The format in which a browser reads a resource; `nil` for a format without references, such as an image.
        /// `kind` is the place from which a document refers to the resource, `contentType` the field of its response.
        package init?(of kind: Reference.Kind, contentType: String?) {
            let type = MediaType(contentType)
            switch kind {
            case .style: self = .css
            case .script: self = .script
            case .manifest: self = .manifest
            case .media, .track, .link, .form, .base: return nil
            case .frame, .object, .refresh:
                if type.isHTML || type.candidates.isEmpty {
                    self = .html
                } else if type.isXML {
                    self = .xml
                } else {
                    return nil
                }
            case .image, .icon, .css, .svg, .lazy, .preload, .request:
                if type.isXML {
                    self = .xml
                } else if type.candidates.contains("text/css") {
                    self = .css
                } else if type.candidates.contains("text/javascript")
                    || type.candidates.contains("application/javascript")
                {
                    self = .script
                } else {
                    return nil
                }
            }
        }
    }

    /// A reference of the document.
    package struct Found: Hashable, Sendable {
        package var url: WebURL
        package var kind: Reference.Kind

        package init(url: WebURL, kind: Reference.Kind) {
            self.url = url
            self.kind = kind
        }
    }

    package let format: Format
    /// Without a byte order mark.
    package let text: [UInt8]
    package let encoding: TextEncoding
    /// The title of an HTML document; `nil` without one.
    package let title: String?
    private let references: [Reference]
    /// The meaning of each reference.
    private let destinations: [DocumentAddress.Destination]
    private let fixes: [MarkupReferences.Fix]
    /// The URLs of a manifest or a script, which are never rewritten.
    private let names: [Found]
    /// A URL that no browser loads.
    private static let nowhere = "about:invalid"

    /// `url` is that of the body, after redirects. `parent` is the encoding of the document that refers to the body.
    package init(
        _ body: [UInt8], _ format: Format, contentType: String?, url: WebURL, parent: TextEncoding = .utf8
    ) {
        self.format = format
        let charset = ContentDisposition.parameters(of: contentType ?? "").first { $0.name == "charset" }
        let read: DocumentText.Format =
            switch format {
            case .html, .manifest: .html
            case .xml: .xml
            case .css, .script: .css(of: parent)
            }
        let decoded = DocumentText(body, read, charset: charset.map { String(decoding: $0.value, as: UTF8.self) })
        let text = decoded.bytes
        (self.text, encoding) = (text, decoded.encoding)
        var address = DocumentAddress(url, encoding: decoded.encoding)
        switch format {
        case .html, .xml:
            let markup = MarkupReferences(text.span, isXML: format == .xml)
            references = markup.references
            (fixes, title, names) = (markup.fixes, markup.title, [])
        case .css:
            references = StyleReferences.references(in: text.span)
            (fixes, title, names) = ([], nil, [])
        case .manifest:
            names = ManifestReferences.urls(in: text).compactMap { WebURL($0, relativeTo: url) }
                .map { Found(url: $0, kind: .icon) }
            (references, fixes, title) = ([], [], nil)
        case .script:
            names = ModuleReferences.specifiers(in: text.span).filter(Self.isPath)
                .compactMap { WebURL($0, relativeTo: url) }.map { Found(url: $0, kind: .script) }
            (references, fixes, title) = ([], [], nil)
        }
        destinations = references.map { address.resolve($0) }
    }

    /// The URLs to which the document refers, without duplicates, in its order. The destinations of links are included.
    /// Each call looks for duplicates anew, because a replay never needs the list.
    package var found: [Found] {
        var seen: Set<Found> = []
        var found: [Found] = []
        for (reference, destination) in zip(references, destinations) {
            guard case .url(let url) = destination, reference.kind != .base else { continue }
            let name = Found(url: url, kind: reference.kind)
            if seen.insert(name).inserted { found.append(name) }
        }
        return found + names.filter { seen.insert($0).inserted }
    }

    /// A module is imported by a URL, or by a path that begins with `/`, `./` or `../`. Other names need an import map.
    private static func isPath(_ specifier: String) -> Bool {
        specifier.hasPrefix("/") || specifier.hasPrefix("./") || specifier.hasPrefix("../")
            || WebURL.scheme(of: specifier) != nil
    }

    /// The body for a replay, in UTF-8: each URL of a server becomes the URL that `replacement` returns, behind which
    /// the fragment stays. URLs that this module cannot read lead nowhere, and the document's own policies, hints and
    /// bases have no effect. The attribute `integrity` of style sheets goes, because the sheets are rewritten, too.
    ///
    /// `images` has the texts of SVG files by their URLs. An HTML document gets those with an element to which it
    /// refers as a part of itself, behind its end.
    package func rewritten(
        with images: [String: [UInt8]] = [:], _ replacement: (WebURL, Reference.Kind) -> String
    ) -> [UInt8] {
        var prefixes: [String: String] = [:]
        var parts: [UInt8] = []
        for url in imageURLs {
            let prefix = "larder-\(prefixes.count)-"
            guard let part = images[url.text].flatMap({ InlineImage.text(of: $0, prefix: prefix) }) else { continue }
            prefixes[url.text] = prefix
            parts += part
        }
        var index = 0
        let rewriting = Rewriting(
            references, fixes, isRewritten: { $0.kind == .style },
            url: { reference in
                defer { index += 1 }
                switch destinations[index] {
                case .url(let url):
                    // The document in a `srcdoc` does not have the parts of the outer one.
                    let isOuter = reference.escapes.count == 1
                    if reference.kind == .svg, isOuter, !url.fragment.isEmpty, let prefix = prefixes[url.text] {
                        return "#" + prefix + url.fragment.dropFirst()
                    }
                    let new = replacement(url, reference.kind)
                    return url.fragment.isEmpty ? new : new + url.fragment
                case .inert: return nil
                case .unusable: return Self.nowhere
                }
            })
        return rewriting.apply(to: text) + parts
    }

    /// The SVG files with elements to which an HTML document refers, as for its icons. Only the first 16.
    package var imageURLs: [WebURL] {
        guard format == .html else { return [] }
        var images: [WebURL] = []
        for (reference, destination) in zip(references, destinations) where reference.kind == .svg {
            guard images.count < 16, case .url(let url) = destination, !url.fragment.isEmpty else { continue }
            if !images.contains(where: { $0.text == url.text }) { images.append(url) }
        }
        return images
    }
}
