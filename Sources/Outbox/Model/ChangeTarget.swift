import Primitives

/// The resource that a change edits.
package struct ChangeTarget: Hashable, Sendable {
    /// The URL in the form in which requests send it (``CanonicalURL/requestURL``).
    package let url: String
    /// The URL in its single spelling; without a label, it names the lane.
    package let canonicalURL: String
    /// The key of the canonical URL, by which the cache knows the resource.
    package let key: String
    /// Scheme, host and port: `https://example.com:8443`.
    package let origin: String

    package init(_ url: CanonicalURL, key: String) {
        self.init(url: url.requestURL, canonicalURL: url.string, key: key, origin: url.origin)
    }

    init(url: String, canonicalURL: String, key: String, origin: String) {
        self.url = url
        self.canonicalURL = canonicalURL
        self.key = key
        self.origin = origin
    }
}
