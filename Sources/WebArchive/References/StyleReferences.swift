/// Finds the references of a style sheet in UTF-8.
package enum StyleReferences {
    package static func references(in bytes: Span<UInt8>) -> [Reference] {
        CSSScanner.urls(in: bytes).compactMap { url in
            guard !url.text.isEmpty, !url.text.hasPrefix("#") else { return nil }
            return Reference(
                url.text, url.isImport ? .style : .css, url.range, [url.isQuoted ? .cssString : .cssURL])
        }
    }
}
