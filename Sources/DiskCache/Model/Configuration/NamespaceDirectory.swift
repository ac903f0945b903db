/// The directory of a namespace. It has the name of the namespace. After the namespace was begun anew, it is a
/// directory with a number behind the name: `name.7`. So a namespace is emptied at once, even when it is large or its
/// old directory is still in use.
package struct NamespaceDirectory: Hashable, Sendable {
    package let namespace: String
    /// The number of the directory. 0, the default, is the directory without a number in its name.
    package let generation: Int

    package init(namespace: String, generation: Int = 0) {
        self.namespace = namespace
        self.generation = generation
    }

    package var name: String { generation == 0 ? namespace : "\(namespace).\(generation)" }
}
