import DiskCache

/// A token as stored by the server: its name, its rights and the digest of its secret. The server does not store the
/// secret.
package struct AccessToken: Hashable, Sendable {
    /// The name of the token, which tells its bearer: 1 to 63 of `a` to `z`, `0` to `9` and `-`. Names are unique
    /// within a file.
    package let name: String
    /// The SHA-256 of the whole token, as its bearer sends it.
    package let digest: [UInt8]
    /// The permissions of the bearer; at least one.
    package let scopes: Set<Scope>
    /// The namespaces that the bearer may use; `nil`: all namespaces.
    package let namespaces: Set<String>?
    /// The requests per second that the bearer may make, with bursts of at most twice as many; `nil`: unlimited.
    package let rate: Double?

    /// Creates a token with these properties.
    package init(name: String, digest: [UInt8], scopes: Set<Scope>, namespaces: Set<String>?, rate: Double?) {
        self.name = name
        self.digest = digest
        self.scopes = scopes
        self.namespaces = namespaces
        self.rate = rate
    }

    /// Whether the bearer may use a namespace.
    package func isFor(namespace: String) -> Bool { namespaces?.contains(namespace) ?? true }

    /// The namespace of the token, when there is exactly one namespace. Requests that name no namespace go there.
    package var ownNamespace: String? { namespaces?.count == 1 ? namespaces?.first : nil }

    /// Whether a text is a valid token name. The rule is the same as for names of namespaces.
    package static func isName(_ text: String) -> Bool {
        CacheDirectory.isNamespace(text)
    }
}
