import Primitives

/// The bodies that are open for reading. All readers of a body share one file descriptor. The lock guards the table.
/// While a file is open, no other file has its inode, so a body found by its identity belongs to that file.
final class OpenBodies: Sendable {
    private struct Reference {
        weak var body: BodyFile?
    }

    private struct Table {
        var bodies: [FileIdentity: Reference] = [:]
        /// The number of rows at which the rows of closed bodies are dropped.
        var limit = 64
    }

    private let table = Locked(Table())

    /// Includes the rows of closed bodies.
    var count: Int { table.withLock { $0.bodies.count } }

    /// Returns the body that is already open for the same file; otherwise registers and returns `opened`.
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
