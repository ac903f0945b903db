import Larder

/// A method, a path pattern, what they do, and who may have it done.
struct Route: Sendable {
    let method: String
    let pattern: String
    let endpoint: Endpoint
    /// What a token must be good for; `nil`: none is needed.
    let scope: Scope?
    let space: Space
    /// Whether answers may have content of another origin, which a browser must keep apart (``ContentFence``).
    let isFenced: Bool

    /// Which namespace is meant.
    enum Space: Sendable {
        /// The one that the path's prefix (``NamespacePrefix``) or `Larder-Namespace` names, or the token's own.
        case named
        /// The one that the path's prefix names, or the token's own: answers that others keep do not vary by a field.
        case prefixed
        /// All of them: a token must be for the default one.
        case server
        /// The one that the path names: the endpoint looks at whether the visitor may use it.
        case inPath
        /// Those that the query names, which is the endpoint's affair, too; without, as ``named``.
        case inQuery
    }

    init(
        _ method: String, _ pattern: String, _ scope: Scope?, _ endpoint: Endpoint, in space: Space = .named,
        isFenced: Bool = false
    ) {
        self.method = method
        self.pattern = pattern
        self.scope = scope
        self.endpoint = endpoint
        self.space = space
        self.isFenced = isFenced
    }
}
