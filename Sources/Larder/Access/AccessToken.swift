import DiskCache

/// A token as the server knows it: who bears it, what for, and the digest of its secret, but not the secret.
public struct AccessToken: Hashable, Sendable {
    /// Who it was made for: 1 to 63 of `a` to `z`, `0` to `9` and `-`. Two tokens of one file have two names.
    public let name: String
    /// The SHA-256 of the whole token, as its bearer sends it.
    public let digest: [UInt8]
    /// What it lets its bearer do; at least one.
    public let scopes: Set<Scope>
    /// The namespaces that it is good for; `nil`: all of them.
    public let namespaces: Set<String>?
    /// How many requests a second its bearer may make, and at once at most twice as many; `nil`: any number.
    public let rate: Double?

    /// A token with these properties.
    public init(name: String, digest: [UInt8], scopes: Set<Scope>, namespaces: Set<String>?, rate: Double?) {
        self.name = name
        self.digest = digest
        self.scopes = scopes
        self.namespaces = namespaces
        self.rate = rate
    }

    /// Whether it is good for a namespace.
    public func isFor(namespace: String) -> Bool { namespaces?.contains(namespace) ?? true }

    /// The namespace that it is for, when that is a single one: what its bearer's requests mean that name none.
    public var ownNamespace: String? { namespaces?.count == 1 ? namespaces?.first : nil }

    /// Whether a text may be a token's name: the same that may be a namespace's.
    public static func isName(_ text: String) -> Bool {
        CacheDirectory.isNamespace(text)
    }
}
