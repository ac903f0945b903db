import Primitives

/// Where a server of Larder is, as `LARDER_SERVER` says it: scheme, host, port, and the path below which a proxy may have
/// put it.
public struct ServerAddress: Hashable, Sendable, CustomStringConvertible {
    /// A text that is no such address, in words.
    public struct Invalid: Error, Hashable, Sendable, CustomStringConvertible {
        /// A sentence that has the text in it.
        public let description: String
    }

    /// The address, without a slash at the end: `http://127.0.0.1:8080`.
    public let description: String

    /// Reads an absolute URL with the scheme `http` or `https`, and neither credentials nor query. Throws ``Invalid``.
    public init(_ text: String) throws(Invalid) {
        let url: CanonicalURL
        do {
            url = try CanonicalURL(text)
        } catch {
            throw Invalid(description: "\"\(text)\" is no address of a server: \(error)")
        }
        guard url.scheme == "http" || url.scheme == "https", url.query == nil else {
            throw Invalid(description: "\"\(text)\" is no address of a server: write it as http://127.0.0.1:8080")
        }
        var path = url.path[...]
        while path.last == "/" { path.removeLast() }
        description = "\(url.scheme)://\(url.authorityText)\(path)"
    }
}
