import GRDB
import TestSupport

extension TestSubscriptions {
    /// Runs SQL in the database of a server that has stopped.
    static func executeAtRest(_ sql: String, _ temporary: TemporaryDirectory) throws {
        let queue = try DatabaseQueue(path: temporary.path("state/subscriptions.sqlite"))
        try queue.writeWithoutTransaction { try $0.execute(sql: sql) }
        try queue.close()
    }
}
