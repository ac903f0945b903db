/// The address of a document, which gives its relative references their meaning.
package struct DocumentAddress: Sendable {
    /// After redirects.
    package let url: WebURL
    /// The encoding in which the document was sent; it is also that of non-ASCII characters in queries.
    package let encoding: TextEncoding

    package init(_ url: WebURL, encoding: TextEncoding = .utf8) {
        self.url = url
        self.encoding = encoding
    }

    /// `nil` for a URL that no capture can have, such as `data:`, `javascript:` and `mailto:`.
    package func resolve(_ reference: Reference) -> WebURL? {
        let base = reference.base.flatMap { WebURL($0, relativeTo: url, encoding: encoding) } ?? url
        return WebURL(reference.text, relativeTo: base, encoding: encoding)
    }
}
