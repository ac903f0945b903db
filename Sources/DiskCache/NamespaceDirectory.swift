/// Where a namespace keeps its entries: in a directory of its name; in one with a number behind it, `name.7`, since it
/// was begun anew. So a namespace is emptied at once, whatever is in it and whoever still uses that.
public struct NamespaceDirectory: Hashable, Sendable {
    /// The namespace.
    public let namespace: String
    /// Which directory of it; 0, the default, is the one without a number.
    public let generation: Int

    /// A directory of a namespace.
    public init(namespace: String, generation: Int = 0) {
        self.namespace = namespace
        self.generation = generation
    }

    /// The one that a directory of that name is; `nil` when it is none.
    public init?(name: String) {
        let parts = name.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard let namespace = parts.first.map(String.init), CacheDirectory.isNamespace(namespace) else { return nil }
        guard parts.count == 2 else {
            self.init(namespace: namespace)
            return
        }
        // As it would be written, and in no other way.
        guard let generation = Int(parts[1]), generation > 0, String(generation) == parts[1] else { return nil }
        self.init(namespace: namespace, generation: generation)
    }

    /// The directory's name.
    public var name: String { generation == 0 ? namespace : "\(namespace).\(generation)" }
}
