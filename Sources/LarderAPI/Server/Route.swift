import Larder

/// A method, a path pattern, what they do, and who may have it done.
struct Route: Sendable {
    let method: String
    let pattern: String
    let endpoint: Endpoint
    /// What a token must be good for; `nil`: none is needed.
    let scope: Scope?
    /// Whether it works in the namespace that `Larder-Namespace` names; what concerns the whole server ignores it.
    let isNamespaced: Bool

    init(_ method: String, _ pattern: String, _ scope: Scope?, _ endpoint: Endpoint, isNamespaced: Bool = true) {
        self.method = method
        self.pattern = pattern
        self.scope = scope
        self.endpoint = endpoint
        self.isNamespaced = isNamespaced
    }
}
