import DiskCache

/// A token as the server stores it: without its secret.
package struct AccessToken: Hashable, Sendable {
    /// 1 to 63 of `a` to `z`, `0` to `9` and `-`. Names are unique within a file.
    package let name: String
    /// The SHA-256 of the whole token, as its bearer sends it.
    package let digest: [UInt8]
    /// At least one.
    package let scopes: Set<Scope>
    /// The namespaces that the bearer may use; `nil`: all.
    package let namespaces: Set<String>?
    /// Requests per second, with bursts of at most twice as many; `nil`: unlimited.
    package let rate: Double?

    package init(name: String, digest: [UInt8], scopes: Set<Scope>, namespaces: Set<String>?, rate: Double?) {
        self.name = name
        self.digest = digest
        self.scopes = scopes
        self.namespaces = namespaces
        self.rate = rate
    }

    package func isFor(namespace: String) -> Bool { namespaces?.contains(namespace) ?? true }

    /// The namespace of requests that name none, when the token is for exactly one namespace.
    package var ownNamespace: String? { namespaces?.count == 1 ? namespaces?.first : nil }

    package static func isName(_ text: String) -> Bool {
        CacheDirectory.isNamespace(text)
    }
}

/// A permission of the bearer of a token.
package enum Scope: String, CaseIterable, Sendable {
    /// Read entries, and watch downloads.
    case read
    /// Fetch URLs by a download or through the gateway, and cancel downloads.
    case download
    /// Store own bodies, and change the metadata of entries.
    case write
    /// Remove entries.
    case purge
    /// Read counters, free memory, and create and remove namespaces.
    case admin
}

package enum NamespaceName {
    /// The namespace of requests that name none. It always exists.
    package static let `default` = "default"

    /// Whether a text matches `[a-z0-9-]{1,63}`.
    package static func isValid(_ text: String) -> Bool { CacheDirectory.isNamespace(text) }
}
