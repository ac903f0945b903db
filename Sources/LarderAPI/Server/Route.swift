/// A method, a path pattern and what they do.
struct Route: Sendable {
    let method: String
    let pattern: String
    let endpoint: Endpoint
    /// Whether it works in the namespace that `Larder-Namespace` names; what concerns the whole server ignores it.
    let isNamespaced: Bool

    init(_ method: String, _ pattern: String, _ endpoint: Endpoint, isNamespaced: Bool = true) {
        self.method = method
        self.pattern = pattern
        self.endpoint = endpoint
        self.isNamespaced = isNamespaced
    }
}
