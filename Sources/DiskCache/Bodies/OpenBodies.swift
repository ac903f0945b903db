import Primitives

/// The bodies that somebody holds open, so that all who read one share one descriptor, however many they are.
///
/// Invariants: the lock guards the table. As long as a file is open, no other has its inode, so what is found under an
/// identity is that file.
final class OpenBodies: Sendable {
    private struct Reference {
        weak var body: BodyFile?
    }

    private struct Table {
        var bodies: [FileIdentity: Reference] = [:]
        /// At how many rows those are dropped whose body was closed.
        var limit = 64
    }

    private let table = Locked(Table())

    /// How many rows the table has, those of closed bodies included.
    var count: Int { table.withLock { $0.bodies.count } }

    /// The body that is open already for that file, or the one that was just opened.
    ///
    /// - Parameter identity: that of the open file.
    func shared(_ opened: BodyFile, _ identity: FileIdentity) -> BodyFile {
        table.withLock { table in
            if let body = table.bodies[identity]?.body, body.length == opened.length { return body }
            if table.bodies.count >= table.limit {
                table.bodies = table.bodies.filter { $0.value.body != nil }
                table.limit = max(64, 2 * table.bodies.count)
            }
            table.bodies[identity] = Reference(body: opened)
            return opened
        }
    }
}
