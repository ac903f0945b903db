import Primitives
import Synchronization

/// Every open connection under its number, so that the ones which are too slow can be found and the busy ones counted.
///
/// Each lock guards its table, or the counts, only. A connection's own state is in atomics of its own.
final class ConnectionRegistry: Sendable {
    private let connections = Locked<[UInt64: Connection]>([:])
    private let addresses = Locked<[RemoteAddress: Int]>([:])
    private let counts = Locked(Counts())
    private let lastID = Atomic<UInt64>(0)
    /// What connections sent that are in the table no more. Changed under the table's lock, so that none counts twice.
    private let sentByClosed = Atomic<Int64>(0)

    /// Sockets that are open.
    private struct Counts {
        /// Of connections that a thread serves, or will soon.
        var served = 0
        /// See ``LingeringSockets``.
        var lingering = 0
    }

    /// A number that no connection had before; never 0.
    func newID() -> UInt64 { lastID.add(1, ordering: .relaxed).newValue }

    /// Connections that were accepted and whose sockets are not closed, whether a thread serves them or not.
    var count: Int { counts.withLock { $0.served + $0.lingering } }

    /// Of these, those that do not linger.
    var servedCount: Int { counts.withLock { $0.served } }

    /// Of these, those that do.
    var lingeringCount: Int { counts.withLock { $0.lingering } }

    /// Counts a connection that was accepted and comes to ``add(_:)`` soon.
    func expectOne() {
        counts.withLock { $0.served += 1 }
    }

    /// Takes ``expectOne()`` back: the socket is closed.
    func expectOneLess() {
        counts.withLock { $0.served -= 1 }
    }

    /// One of those that were served lingers from now on, if fewer than `limit` do; whether it does.
    func beginLingering(limit: Int) -> Bool {
        counts.withLock { counts in
            guard counts.lingering < limit else { return false }
            counts.served -= 1
            counts.lingering += 1
            return true
        }
    }

    /// One that lingered does no more: its socket is closed.
    func endLingering() {
        counts.withLock { $0.lingering -= 1 }
    }

    /// Counts a connection of an address, if it has fewer than `limit`; whether it did. 0: none are counted.
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

    /// Forgets a connection, which has noted what it sent; it counts until ``expectOneLess()``.
    func remove(_ connection: Connection) {
        connections.withLock { table in
            guard table.removeValue(forKey: connection.id) != nil else { return }
            sentByClosed.add(connection.sentAtClose.load(ordering: .relaxed), ordering: .relaxed)
        }
    }

    /// Bytes sent on all connections so far; see ``Connection/sentBytes``. It asks the kernel about each open one.
    var sentBytes: Int64 {
        let (open, closed) = connections.withLock { (Array($0.values), sentByClosed.load(ordering: .relaxed)) }
        return open.reduce(closed) { $0 + $1.sentBytes }
    }

    /// The open connection with that number.
    subscript(id: UInt64) -> Connection? {
        connections.withLock { $0[id] }
    }

    /// How many connections have a request whose first line has come and whose answer is not complete.
    var busyCount: Int {
        connections.withLock { table in table.values.count { $0.isBusy.load(ordering: .relaxed) } }
    }

    /// Whether nobody has a request here, or bytes on the way to a thread that may be one. It looks at every connection
    /// and its socket. Between reading bytes and knowing what they are a thread is quiet, too: look twice.
    var isQuiet: Bool {
        let open = connections.withLock { Array($0.values) }
        // Others were accepted, and no thread has them yet.
        guard servedCount == open.count else { return false }
        return !open.contains { $0.hasUnread || $0.isBusy.load(ordering: .relaxed) }
    }

    /// The connections that a thread serves.
    var all: [Connection] { connections.withLock { Array($0.values) } }

    /// Cuts off those whose deadline has passed; libmicrohttpd then closes them.
    func shutDownOverdue(now: Int64) {
        let overdue = connections.withLock { table in
            table.values.filter { $0.deadline.load(ordering: .relaxed) < now }
        }
        for connection in overdue { connection.cutOff() }
    }
}
