import Primitives

/// The text of a document in UTF-8, without a byte order mark, and the encoding in which the document was sent.
package struct DocumentText: Sendable {
    package let bytes: [UInt8]
    package let encoding: TextEncoding

    /// The language of the document, which decides where its own encoding is declared.
    package enum Format: Sendable {
        case html, xml
        /// A style sheet that names no encoding has that of the document that refers to it.
        case css(of: TextEncoding)
    }

    /// Reads the bytes of a body. `charset` is the parameter of Content-Type. In the order of the standards decide: a
    /// byte order mark, `charset`, the document's own declaration (`meta`, `<?xml encoding=…?>`, `@charset`), and for
    /// HTML without any of them whether the bytes are valid UTF-8 (WHATWG HTML §13.2.3.2).
    package init(_ body: [UInt8], _ format: Format, charset: String?) {
        if let (encoding, length) = Self.mark(of: body) {
            self.init(body.dropFirst(length), encoding)
        } else if let encoding = charset.flatMap(TextEncoding.init(label:)) ?? Self.declared(in: body, format) {
            self.init(body[...], encoding)
        } else {
            switch format {
            case .html: self.init(body[...], body.isUTF8 ? .utf8 : .windows1252)
            case .xml: self.init(body[...], .utf8)
            case .css(let encoding): self.init(body[...], encoding.isUTF16 ? .utf8 : encoding)
            }
        }
    }

    private init(_ body: ArraySlice<UInt8>, _ encoding: TextEncoding) {
        bytes = encoding.decode(Array(body))
        self.encoding = encoding
    }

    private static func mark(of body: [UInt8]) -> (TextEncoding, Int)? {
        if body.starts(with: [0xef, 0xbb, 0xbf]) { return (.utf8, 3) }
        if body.starts(with: [0xff, 0xfe]) { return TextEncoding(label: "utf-16le").map { ($0, 2) } }
        if body.starts(with: [0xfe, 0xff]) { return TextEncoding(label: "utf-16be").map { ($0, 2) } }
        return nil
    }

    /// A declaration that can be read as ASCII is not in UTF-16, so a declaration of UTF-16 means UTF-8.
    private static func declared(in body: [UInt8], _ format: Format) -> TextEncoding? {
        let encoding: TextEncoding? =
            switch format {
            case .html: MarkupCharset.declared(in: body.span)
            case .xml: MarkupCharset.declaredInXML(body.span).flatMap(TextEncoding.init(label:))
            case .css: MarkupCharset.declaredInCSS(body.span).flatMap(TextEncoding.init(label:))
            }
        return encoding.map { $0.isUTF16 ? .utf8 : $0 }
    }
}

/// The encoding that a document declares.
private enum MarkupCharset {
    /// The first known encoding of a `meta`, anywhere in the document, as browsers accept it.
    static func declared(in bytes: Span<UInt8>) -> TextEncoding? {
        var tokenizer = MarkupTokenizer(.html)
        while let token = tokenizer.next(in: bytes) {
            guard case .start(let tag) = token, tag.element == .meta else { continue }
            var (label, content, isContentType) = (String?.none, String?.none, false)
            for attribute in tokenizer.attributes {
                let text = String(decoding: DecodedText.attribute(attribute.value, of: bytes).bytes, as: UTF8.self)
                switch attribute.name {
                case .charset: label = text
                case .content: content = text
                case .httpEquiv: isContentType = text.lowercased() == "content-type"
                default: break
                }
            }
            if label == nil, isContentType { label = content.flatMap(self.label(inContent:)) }
            if let encoding = label.flatMap(TextEncoding.init(label:)) { return encoding }
        }
        return nil
    }

    /// `text/html; charset=LABEL`
    private static func label(inContent content: String) -> String? {
        let bytes = Array(content.utf8)
        let text = bytes.span
        var start = 0
        while start < text.count, !text.hasPrefix(ignoringCase: "charset", at: start) { start += 1 }
        let sign = text.skippingSpace(from: start + 7)
        guard sign < text.count, text[sign] == UInt8(ascii: "=") else { return nil }
        let begin = text.skippingSpace(from: sign + 1)
        guard begin < text.count else { return nil }
        if text[begin] == UInt8(ascii: "\"") || text[begin] == UInt8(ascii: "'") {
            return text.firstIndex(of: text[begin], from: begin + 1).map { text.text(begin + 1..<$0) }
        }
        var end = begin
        while end < text.count, !text[end].isSpace, text[end] != UInt8(ascii: ";") { end += 1 }
        return text.text(begin..<end)
    }

    /// `<?xml version="1.0" encoding="LABEL"?>`
    static func declaredInXML(_ bytes: Span<UInt8>) -> String? {
        guard bytes.hasPrefix("<?xml", at: 0), let end = bytes.end(of: "?>", from: 0) else { return nil }
        let declaration = bytes.extracting(0..<end)
        guard let name = declaration.end(of: "encoding", from: 0) else { return nil }
        let sign = declaration.skippingSpace(from: name)
        let quote = declaration.skippingSpace(from: sign + 1)
        guard quote < end, declaration[sign] == UInt8(ascii: "=") else { return nil }
        return declaration.firstIndex(of: declaration[quote], from: quote + 1).map { declaration.text(quote + 1..<$0) }
    }

    /// `@charset "LABEL";` counts only as the first bytes, and only in this spelling (CSS Syntax Module Level 3 §3.2).
    static func declaredInCSS(_ bytes: Span<UInt8>) -> String? {
        guard bytes.hasPrefix("@charset \"", at: 0) else { return nil }
        return bytes.firstIndex(of: UInt8(ascii: "\""), from: 10).flatMap { end in
            bytes.hasPrefix("\";", at: end) ? bytes.text(10..<end) : nil
        }
    }
}
