import Primitives

/// Where a server of Larder is, as `LARDER_SERVER` says it: scheme, host, port, and the path below which a proxy has
/// put it, if one has.
public struct ServerAddress: Hashable, Sendable, CustomStringConvertible {
    /// A text that is no such address.
    public struct Invalid: Error, Hashable, Sendable, CustomStringConvertible {
        /// What is wrong with it; not the text, which may have a password in it.
        public let description: String

        init(_ reason: String) {
            description = "the server's address cannot be used: \(reason)"
        }
    }

    /// The address, without a slash at the end: `http://127.0.0.1:8080`.
    public let description: String

    /// Reads an absolute URL with the scheme `http` or `https`, and neither credentials nor query. Throws ``Invalid``.
    public init(_ text: String) throws(Invalid) {
        let url: CanonicalURL
        do {
            url = try CanonicalURL(text)
        } catch {
            throw Invalid(error.description)
        }
        guard url.scheme == "http" || url.scheme == "https", url.query == nil else {
            throw Invalid("it must be like http://127.0.0.1:8080")
        }
        var path = url.path[...]
        while path.last == "/" { path.removeLast() }
        description = "\(url.scheme)://\(url.authorityText)\(path)"
    }
}
