import Foundation

/// What one thread does for all connections: it notices clients that hang up, and cuts off those that take too long.
///
/// Everything in it belongs to that thread.
struct Watcher {
    private let core: DaemonCore
    /// How often deadlines are looked at, in milliseconds: a client may overstay by a quarter of the limit, at most a
    /// second.
    private let deadlineInterval: Int64
    private var nextDeadlines: Int64 = 0
    /// Clients that have hung up, with something in their sockets that libmicrohttpd has not read yet.
    private var unread: [Connection] = []
    private var nextUnread: Int64 = 0
    /// How often these are looked at, in milliseconds. They are few, and it is how late their end is noticed.
    private static let unreadInterval: Int64 = 100

    init(core: DaemonCore) {
        self.core = core
        deadlineInterval = max(5, min(1000, (core.requestMilliseconds ?? .max) / 4))
    }

    /// Watches until ``SocketWatch/stop()``.
    mutating func run() {
        while core.sockets.wait(timeout: timeout, { note($0) }) {
            lookAround(now: core.now())
        }
    }

    private mutating func note(_ id: UInt64) {
        guard let connection = core.registry[id] else { return core.lingering.drain(id) }
        connection.hasHungUp.store(true, ordering: .releasing)
        core.suspensions.clientLeft(id)
        if !connection.showEnd() { unread.append(connection) }
    }

    private var timeout: Int32 {
        unread.isEmpty ? Int32(deadlineInterval) : Int32(Self.unreadInterval)
    }

    private mutating func lookAround(now: Int64) {
        if now >= nextUnread {
            nextUnread = now + Self.unreadInterval
            unread.removeAll { $0.showEnd() }
        }
        if now >= nextDeadlines {
            nextDeadlines = now + deadlineInterval
            core.registry.shutDownOverdue(now: now)
            core.lingering.closeOverdue(now: now)
        }
    }
}
