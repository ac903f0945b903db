import Larder

struct Route: Sendable {
    let method: String
    let pattern: String
    let endpoint: Endpoint
    /// `nil` if no token is needed.
    let scope: Scope?
    let source: NamespaceSource
    /// Whether answers may carry content of another origin, which browsers must isolate (``ContentFence``).
    let isFenced: Bool

    init(
        _ method: String, _ pattern: String, _ scope: Scope?, _ endpoint: Endpoint, in source: NamespaceSource = .named,
        isFenced: Bool = false
    ) {
        self.method = method
        self.pattern = pattern
        self.scope = scope
        self.endpoint = endpoint
        self.source = source
        self.isFenced = isFenced
    }
}
