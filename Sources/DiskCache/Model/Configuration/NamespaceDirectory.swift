/// The directory of a namespace, with its name; after the namespace was begun anew, with a number behind the name:
/// `name.7`. So a namespace is emptied at once, even when it is large or its old directory is still in use.
package struct NamespaceDirectory: Hashable, Sendable {
    package let namespace: String
    /// 0: no number in the name.
    package let generation: Int

    package init(namespace: String, generation: Int = 0) {
        self.namespace = namespace
        self.generation = generation
    }

    package var name: String { generation == 0 ? namespace : "\(namespace).\(generation)" }
}
