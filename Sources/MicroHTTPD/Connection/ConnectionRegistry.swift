import Primitives
import Synchronization

/// The table of all served connections, and their counts. Each lock guards one table or the counts.
final class ConnectionRegistry: Sendable {
    private let connections = Locked<[UInt64: Connection]>([:])
    private let addresses = Locked<[IPAddress?: Int]>([:])
    private let counts = Locked(Counts())
    private let lastID = Atomic<UInt64>(0)
    /// Changed under the lock of `connections`, so that ``sentBytes`` counts no connection twice.
    private let sentByClosed = Atomic<Int64>(0)

    private struct Counts {
        var served = 0
        var lingering = 0
    }

    /// A number that no connection had before; never 0.
    func newID() -> UInt64 { lastID.add(1, ordering: .relaxed).newValue }
    /// Accepted connections with open sockets, whether a thread serves them or not.
    var count: Int { counts.withLock { $0.served + $0.lingering } }
    /// Accepted connections that do not linger.
    var servedCount: Int { counts.withLock { $0.served } }
    var lingeringCount: Int { counts.withLock { $0.lingering } }

    /// Adds `count` to ``servedCount``: 1 before ``add(_:)``, and -1 when the socket is closed and does not linger.
    func expect(_ count: Int) {
        counts.withLock { $0.served += count }
    }

    /// Counts a served connection as lingering, and returns true, if fewer than `limit` linger.
    func beginLingering(limit: Int) -> Bool {
        counts.withLock { counts in
            guard counts.lingering < limit else { return false }
            counts.served -= 1
            counts.lingering += 1
            return true
        }
    }

    func endLingering() {
        counts.withLock { $0.lingering -= 1 }
    }

    /// Returns false if the address has `limit` connections already. A `limit` of 0 admits all, without counting.
    func admit(_ address: IPAddress?, limit: Int) -> Bool {
        guard limit > 0 else { return true }
        return addresses.withLock { addresses in
            let count = addresses[address, default: 0]
            guard count < limit else { return false }
            addresses[address] = count + 1
            return true
        }
    }

    /// Undoes one ``admit(_:limit:)`` that returned true.
    func leave(_ address: IPAddress?, limit: Int) {
        guard limit > 0 else { return }
        addresses.withLock { addresses in
            let count = addresses[address, default: 1]
            addresses[address] = count > 1 ? count - 1 : nil
        }
    }

    func add(_ connection: Connection) {
        connections.withLock { $0[connection.id] = connection }
    }

    /// Removes a connection that has called ``Connection/noteSent()``. ``expect(_:)`` with -1 reduces the count.
    func remove(_ connection: Connection) {
        connections.withLock { table in
            guard table.removeValue(forKey: connection.id) != nil else { return }
            sentByClosed.add(connection.sentAtClose.load(ordering: .relaxed), ordering: .relaxed)
        }
    }

    /// Asks the kernel about each open connection; see ``Connection/sentBytes``.
    var sentBytes: Int64 {
        let (open, closed) = connections.withLock { (Array($0.values), sentByClosed.load(ordering: .relaxed)) }
        return open.reduce(closed) { $0 + $1.sentBytes }
    }

    subscript(id: UInt64) -> Connection? {
        connections.withLock { $0[id] }
    }

    /// Whether no request is known to be in progress. Check repeatedly: bytes read but not parsed do not count.
    var isQuiet: Bool {
        let open = all
        // If the counts differ, an accepted connection has not reached its thread yet.
        guard servedCount == open.count else { return false }
        return !open.contains { $0.hasUnread || $0.isBusy.load(ordering: .relaxed) }
    }

    var all: [Connection] { connections.withLock { Array($0.values) } }

    /// Cuts off overdue clients; libmicrohttpd then closes them. For `answer` see ``Connection/cutOff(with:)``.
    func shutDownOverdue(now: Int64, answer: [UInt8]) {
        let overdue = connections.withLock { table in
            table.values.filter { $0.deadline.load(ordering: .relaxed) < now }
        }
        for connection in overdue { connection.cutOff(with: answer) }
    }
}
