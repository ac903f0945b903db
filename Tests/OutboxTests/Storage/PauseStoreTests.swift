import GRDB
import Primitives
import TestSupport
import Testing

@testable import Outbox

struct PauseStoreTests {
    private let now = Timestamp(seconds: 1_800_000_000)

    @Test("A pause survives the end of the process, a later one takes its place, and pruning removes ended ones")
    func pauses() throws {
        let folder = try TemporaryDirectory()
        let store = try OutboxStore(directory: folder.path)
        let first = HostPause(
            namespace: "n", origin: "https://a.example", start: now, end: now + .seconds(60))
        let later = HostPause(
            namespace: "n", origin: "https://a.example", start: now, end: now + .seconds(3600))
        let other = HostPause(
            namespace: "n", origin: "https://b.example", start: now, end: now + .seconds(30))
        let foreign = HostPause(
            namespace: "m", origin: "https://a.example", start: now, end: now + .seconds(20))
        for pause in [first, other, foreign, later] { try store.note(pause) }
        store.close()
        let next = try OutboxStore(directory: folder.path)
        #expect(try next.pauses() == [foreign, later, other])
        try next.prune(now: now + .seconds(30))
        #expect(try next.pauses() == [later])
        try next.note(foreign)
        try next.discard(namespace: "n")
        #expect(try next.pauses() == [foreign])
        next.close()
    }

    @Test("A file of the first format gets the table, and keeps its changes")
    func migration() throws {
        let folder = try TemporaryDirectory()
        let store = try OutboxStore(directory: folder.path)
        let change = try store.insert(.put("a=2", on: "a=1"), now: now).change
        let path = store.path
        store.close()
        let queue = try DatabaseQueue(path: path)
        try queue.writeWithoutTransaction {
            try $0.execute(
                sql: """
                    DROP TABLE pauses; DROP TABLE removals; ALTER TABLE changes DROP COLUMN skipsLook;
                    ALTER TABLE changes DROP COLUMN baseType; PRAGMA user_version = 1
                    """)
        }
        try queue.close()
        let next = try OutboxStore(directory: folder.path)
        #expect(try next.unended().map(\.id) == [change.id] && next.pauses().isEmpty)
        next.close()
    }
}
