/// The directory of a namespace. It has the name of the namespace. After the namespace was begun anew, it is a
/// directory with a number behind the name: `name.7`. So a namespace is emptied at once, even when it is large or its
/// old directory is still in use.
package struct NamespaceDirectory: Hashable, Sendable {
    /// The namespace.
    package let namespace: String
    /// The number of the directory. 0, the default, is the directory without a number in its name.
    package let generation: Int

    /// Makes the directory of a namespace.
    package init(namespace: String, generation: Int = 0) {
        self.namespace = namespace
        self.generation = generation
    }

    /// The directory of that name; `nil` when the name is not valid.
    package init?(name: String) {
        let parts = name.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard let namespace = parts.first.map(String.init), CacheDirectory.isNamespace(namespace) else { return nil }
        guard parts.count == 2 else {
            self.init(namespace: namespace)
            return
        }
        // The number must be spelled as ``name`` spells it.
        guard let generation = Int(parts[1]), generation > 0, String(generation) == parts[1] else { return nil }
        self.init(namespace: namespace, generation: generation)
    }

    /// The directory's name.
    package var name: String { generation == 0 ? namespace : "\(namespace).\(generation)" }
}
