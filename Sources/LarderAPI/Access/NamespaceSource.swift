/// The source of the namespace in which a request works.
enum NamespaceSource: Sendable {
    /// The path's prefix (``NamespacePrefix``) or `Larder-Namespace` names the namespace; without both, the token does.
    case named
    /// The path's prefix names the namespace; without it, the token does. `Larder-Namespace` is refused, so that cached
    /// answers need not vary by it.
    case prefixed
    /// The call concerns all namespaces: a token must be for the default namespace.
    case server
    /// The path pattern names the namespace. The endpoint checks whether the visitor may use it.
    case inPath
    /// The query names the namespaces, and the endpoint checks them. Without such a parameter, as ``named``.
    case inQuery
}
