import Foundation
import Primitives

/// What one thread does for all connections: it notices clients that hang up, and cuts off those that take too long,
/// with a request or with an answer.
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

    /// How long a client may be too slow with an answer, in milliseconds; 0 is for ever.
    private let sendPeriod: Int64
    /// By their numbers, the connections that had an answer under way at the last look.
    private var sendClocks: [UInt64: SendClock] = [:]
    private var nextSends: Int64 = 0

    init(core: DaemonCore) {
        self.core = core
        let configuration = core.configuration
        sendPeriod = configuration.minimumAnswerRate > 0 ? max(0, configuration.answerPeriod.milliseconds) : 0
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
        if sendPeriod > 0, now >= nextSends {
            // Often enough, and far enough apart for what was sent to be acknowledged over any distance.
            nextSends = now + max(1, sendPeriod / 12)
            cutOffSlowReaders(now: now)
        }
        if now >= nextDeadlines {
            nextDeadlines = now + deadlineInterval
            core.registry.shutDownOverdue(now: now)
            core.lingering.closeOverdue(now: now)
        }
    }

    private mutating func cutOffSlowReaders(now: Int64) {
        let rate = Int64(core.configuration.minimumAnswerRate)
        var clocks: [UInt64: SendClock] = [:]
        for connection in core.registry.answering {
            guard let progress = connection.sendProgress() else { continue }
            guard var clock = sendClocks[connection.id] else {
                clocks[connection.id] = SendClock(now: now, progress, period: sendPeriod, bytesPerSecond: rate)
                continue
            }
            if clock.isTooSlow(now: now, progress) {
                connection.giveUpSending()
            } else {
                clocks[connection.id] = clock
            }
        }
        sendClocks = clocks
    }
}
