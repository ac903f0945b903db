import Primitives
import Synchronization

/// Every open connection by its number. The registry finds connections that are too slow, and counts busy connections.
///
/// Each lock guards only its table, or the counts. A connection's own state is in its own atomics.
final class ConnectionRegistry: Sendable {
    private let connections = Locked<[UInt64: Connection]>([:])
    private let addresses = Locked<[RemoteAddress: Int]>([:])
    private let counts = Locked(Counts())
    private let lastID = Atomic<UInt64>(0)
    /// Bytes sent on connections that are no longer in the table. Changed under the table's lock, so that no connection
    /// counts twice.
    private let sentByClosed = Atomic<Int64>(0)

    private struct Counts {
        /// Connections that a thread serves or is about to serve.
        var served = 0
        var lingering = 0
    }

    /// A number that no connection had before; never 0.
    func newID() -> UInt64 { lastID.add(1, ordering: .relaxed).newValue }

    /// The number of accepted connections with open sockets, whether a thread serves them or not.
    var count: Int { counts.withLock { $0.served + $0.lingering } }

    /// Accepted connections that do not linger.
    var servedCount: Int { counts.withLock { $0.served } }
    var lingeringCount: Int { counts.withLock { $0.lingering } }

    /// Counts an accepted connection that will be passed to ``add(_:)`` soon.
    func expectOne() {
        counts.withLock { $0.served += 1 }
    }

    /// Takes ``expectOne()`` back, because the socket is closed.
    func expectOneLess() {
        counts.withLock { $0.served -= 1 }
    }

    /// Counts a served connection as lingering, if fewer than `limit` linger. Returns whether it did.
    func beginLingering(limit: Int) -> Bool {
        counts.withLock { counts in
            guard counts.lingering < limit else { return false }
            counts.served -= 1
            counts.lingering += 1
            return true
        }
    }

    /// Discounts a lingering connection, because its socket is closed.
    func endLingering() {
        counts.withLock { $0.lingering -= 1 }
    }

    /// Counts a connection of an address, if the address has fewer than `limit`. Returns whether the connection is
    /// admitted. With a limit of 0 every connection is admitted, and none is counted.
    func admit(_ address: RemoteAddress, limit: Int) -> Bool {
        guard limit > 0 else { return true }
        return addresses.withLock { addresses in
            let count = addresses[address, default: 0]
            guard count < limit else { return false }
            addresses[address] = count + 1
            return true
        }
    }

    /// Takes ``admit(_:limit:)`` back.
    func leave(_ address: RemoteAddress, limit: Int) {
        guard limit > 0 else { return }
        addresses.withLock { addresses in
            let count = addresses[address, default: 1]
            addresses[address] = count > 1 ? count - 1 : nil
        }
    }

    func add(_ connection: Connection) {
        connections.withLock { $0[connection.id] = connection }
    }

    /// Removes a connection that has called ``Connection/noteSent()``. The connection still counts until
    /// ``expectOneLess()``.
    func remove(_ connection: Connection) {
        connections.withLock { table in
            guard table.removeValue(forKey: connection.id) != nil else { return }
            sentByClosed.add(connection.sentAtClose.load(ordering: .relaxed), ordering: .relaxed)
        }
    }

    /// Bytes sent on all connections so far; see ``Connection/sentBytes``. Asks the kernel about each open connection.
    var sentBytes: Int64 {
        let (open, closed) = connections.withLock { (Array($0.values), sentByClosed.load(ordering: .relaxed)) }
        return open.reduce(closed) { $0 + $1.sentBytes }
    }

    subscript(id: UInt64) -> Connection? {
        connections.withLock { $0[id] }
    }

    /// The number of connections with a request that has arrived up to its first line or further, and has no complete
    /// answer.
    var busyCount: Int {
        connections.withLock { table in table.values.count { $0.isBusy.load(ordering: .relaxed) } }
    }

    /// Whether no connection has a request, or unread bytes that may be a request. Checks every connection and its
    /// socket. A thread that has read bytes and not parsed them yet looks quiet, too, so check repeatedly.
    var isQuiet: Bool {
        let open = connections.withLock { Array($0.values) }
        // More connections are accepted than the table holds, so some have not reached their threads yet.
        guard servedCount == open.count else { return false }
        return !open.contains { $0.hasUnread || $0.isBusy.load(ordering: .relaxed) }
    }

    /// The connections that a thread serves.
    var all: [Connection] { connections.withLock { Array($0.values) } }

    /// Cuts off the connections that are past their deadlines; libmicrohttpd then closes them.
    ///
    /// - Parameter answer: see ``Connection/cutOff(with:)``.
    func shutDownOverdue(now: Int64, answer: [UInt8]) {
        let overdue = connections.withLock { table in
            table.values.filter { $0.deadline.load(ordering: .relaxed) < now }
        }
        for connection in overdue { connection.cutOff(with: answer) }
    }
}
