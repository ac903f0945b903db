import Primitives

/// The address of a Larder server, as in `LARDER_SERVER`: scheme, host, port, and the path under which a proxy
/// publishes the server, if any.
package struct ServerAddress: Hashable, Sendable, CustomStringConvertible {
    package struct Invalid: Error, Hashable, Sendable, CustomStringConvertible {
        /// Omits the text, which may contain a password.
        package let description: String

        init(_ reason: String) {
            description = "invalid server address: \(reason)"
        }
    }

    /// Without a final slash: `http://127.0.0.1:8080`.
    package let description: String

    /// Reads an absolute URL with the scheme `http` or `https`, without credentials and query. Throws ``Invalid``.
    package init(_ text: String) throws(Invalid) {
        let url: CanonicalURL
        do {
            url = try CanonicalURL(text)
        } catch {
            throw Invalid(error.description)
        }
        guard url.scheme == "http" || url.scheme == "https", url.query == nil else {
            throw Invalid("expected an address such as http://127.0.0.1:8080")
        }
        var address = url.requestURL[...]
        while address.last == "/" { address.removeLast() }
        description = String(address)
    }
}
