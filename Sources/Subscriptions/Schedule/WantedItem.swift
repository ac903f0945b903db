/// An item that a source wants to be held.
package struct WantedItem: Hashable, Sendable {
    /// Canonical.
    package let url: String
    /// The name of the entry in the API.
    package let key: String
    /// With the port, because the requests to a server are paced together.
    package let host: String
    /// Keeps the escapes of the source in the query, because they may be part of a signature.
    package let requestURL: String

    /// - Parameter requestURL: `nil`: the same text as `url`.
    package init(url: String, key: String, host: String, requestURL: String? = nil) {
        self.url = url
        self.key = key
        self.host = host
        self.requestURL = requestURL ?? url
    }
}
