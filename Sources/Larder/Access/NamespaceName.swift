import DiskCache

package enum NamespaceName {
    /// The namespace of requests that name none. It always exists.
    package static let `default` = "default"

    /// Whether a text matches `[a-z0-9-]{1,63}`.
    package static func isValid(_ text: String) -> Bool { CacheDirectory.isNamespace(text) }
}
