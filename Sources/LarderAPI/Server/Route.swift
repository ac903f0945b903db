import Larder

/// A method and a path pattern, with their endpoint and the scope that a token needs for it.
struct Route: Sendable {
    let method: String
    let pattern: String
    let endpoint: Endpoint
    /// The scope that a token needs; `nil` if no token is needed.
    let scope: Scope?
    let space: Space
    /// Whether answers may carry content of another origin, which browsers must isolate (``ContentFence``).
    let isFenced: Bool

    /// The source of the namespace in which a request works.
    enum Space: Sendable {
        /// The path's prefix (``NamespacePrefix``) or `Larder-Namespace` names the namespace; without both, the token
        /// does.
        case named
        /// The path's prefix names the namespace; without it, the token does. `Larder-Namespace` is refused, so that
        /// cached answers need not vary by it.
        case prefixed
        /// The call concerns all namespaces: a token must be for the default namespace.
        case server
        /// The path pattern names the namespace. The endpoint checks whether the visitor may use it.
        case inPath
        /// The query names the namespaces, and the endpoint checks them. Without such a parameter, as ``named``.
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
