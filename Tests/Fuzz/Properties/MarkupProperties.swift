import WebArchive

/// The first byte selects HTML or XML and a charset, and the rest is a document.
enum MarkupProperties {
    private static let charsets = [nil, "utf-8", "shift_jis", "utf-16", "gb18030", "iso-2022-jp", "latin1"]
    private static let prefix = "/pages/k/view/t/"

    static func check(_ input: [UInt8]) throws(Violation) {
        guard let first = input.first else { return }
        let isXML = first >= 0x80
        let body = Array(input.dropFirst())
        let charset = charsets[Int(first) % charsets.count]
        let document = DocumentText(body, isXML ? .xml : .html, charset: charset).bytes
        try demand(String(validating: document, as: UTF8.self) != nil, "a decoded document is UTF-8")
        let found = MarkupReferences(document.span, isXML: isXML)
        try ReferenceProperties.check(found.references, in: document)
        for fix in found.fixes {
            try demand(
                fix.range.upperBound <= document.count && !fix.range.isEmpty, "a fix is within the document", "\(fix)")
        }
        var address = DocumentAddress(WebURL("http://h.example/a/b?c")!)
        for reference in found.references {
            guard case .url(let url) = address.resolve(reference) else { continue }
            try demand(WebURL(url.text)?.text == url.text, "an absolute URL is read as itself", url.text)
        }
        let rewriting = Rewriting(found.references, found.fixes) { reference in
            switch address.resolve(reference) {
            case .url(let url): prefix + url.text + url.fragment
            case .inert: nil
            case .unusable: prefix
            }
        }
        let result = rewriting.apply(to: document)
        try demand(rewriting.inverse(of: document).apply(to: result) == document, "the inverse restores the document")
        let again = MarkupReferences(result.span, isXML: isXML)
        // A URL may contain the words of a connection hint, and is longer than a hint.
        let fixes = again.fixes.filter { Set($0.replacement) != [UInt8(ascii: "x")] }
        let second = Rewriting(again.references, fixes) { reference in
            reference.text.hasPrefix(prefix) || address.resolve(reference) == .inert ? nil : "x"
        }
        try demand(second.edits.isEmpty, "each URL of a rewritten document is a URL of the replay", "\(second.edits)")
        try checkPart(ArchivedDocument(Array(document), .xml, contentType: nil, url: WebURL("http://h.example/a")!))
    }

    /// Checks an image that becomes a part of an HTML document.
    private static func checkPart(_ image: ArchivedDocument) throws(Violation) {
        let rewritten = image.rewritten { url, _ in prefix + url.text }
        guard let part = InlineImage.text(of: rewritten, prefix: "p-") else { return }
        let text = String(decoding: part, as: UTF8.self)
        try demand(InlineImage.text(of: part, prefix: "") == part, "a part of a document is read as itself", text)
        let found = MarkupReferences(part.span, isXML: false)
        // A hint in a text or an attribute is none, but is taken for one.
        let fixes = found.fixes.filter { Set($0.replacement) != [UInt8(ascii: "x")] }
        try demand(fixes.isEmpty, "a part of a document has no policies and no hints", "\(fixes) in \(text)")
        let address = WebURL("http://h.example/a")!
        for reference in found.references where !reference.text.hasPrefix("#") {
            let isInside = reference.text.hasPrefix(prefix) || WebURL(reference.text, relativeTo: address) == nil
            try demand(isInside, "a part of a document has URLs of the replay only", "\(reference.text) in \(text)")
        }
    }
}

/// A style sheet.
enum StyleProperties {
    static func check(_ input: [UInt8]) throws(Violation) {
        let references = StyleReferences.references(in: input.span)
        try ReferenceProperties.check(references, in: input)
        let urls = references.indices.map { "/v/\($0)?a=\\b\"c'd)e" }
        var index = 0
        let rewriting = Rewriting(references) { _ in
            defer { index += 1 }
            return urls[index]
        }
        let result = rewriting.apply(to: input)
        try demand(rewriting.inverse(of: input).apply(to: result) == input, "the inverse restores the sheet")
        try demand(
            StyleReferences.references(in: result.span).map(\.text) == urls,
            "the URLs of a rewritten sheet are the new URLs")
    }
}

private enum ReferenceProperties {
    static func check(_ references: [Reference], in document: [UInt8]) throws(Violation) {
        var end = 0
        for reference in references {
            try demand(!reference.text.isEmpty && !reference.range.isEmpty, "a reference has a URL", "\(reference)")
            try demand(
                reference.range.lowerBound >= end && reference.range.upperBound <= document.count,
                "references are in order, within the document and without overlaps", "\(reference)")
            end = reference.range.upperBound
        }
    }
}
