import GRDB
import TestSupport

extension TemporaryDirectory {
    /// Runs SQL in the outbox of a server that does not run.
    func executeInOutbox(_ sql: String) throws {
        let queue = try DatabaseQueue(path: path("state/outbox.sqlite"))
        try queue.writeWithoutTransaction { try $0.execute(sql: sql) }
        try queue.close()
    }
}
