import Foundation
import Primitives

/// What one thread does for all connections: it notices clients that hang up, and cuts off those that take too long,
/// with a request or with an answer, or do nothing at all.
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

    /// How long the rate of an answer is averaged over, in milliseconds; 0: there is no rate.
    private let sendPeriod: Int64
    /// How long a client may be silent, in milliseconds; 0 is for ever.
    private let silenceLimit: Int64
    /// How often both are looked at.
    private let readerInterval: Int64
    /// What is known of the connections, by their numbers, from the last look.
    private var readers: [UInt64: Reader] = [:]
    private var nextReaders: Int64 = 0

    /// What is known of one connection.
    private struct Reader {
        /// `nil` between answers, and where the kernel does not say what was acknowledged.
        var sending: SendClock?
        var silence = SilenceClock()
    }

    init(core: DaemonCore) {
        self.core = core
        let configuration = core.configuration
        sendPeriod = configuration.minimumAnswerRate > 0 ? max(0, configuration.answerPeriod.milliseconds) : 0
        silenceLimit = max(0, configuration.inactivityTimeout.milliseconds)
        deadlineInterval = max(5, min(1000, (core.requestMilliseconds ?? .max) / 4))
        // Often enough, and far enough apart for what was sent to be acknowledged over any distance.
        readerInterval = max(1, [sendPeriod, silenceLimit].filter { $0 > 0 }.min().map { $0 / 12 } ?? .max)
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
        Int32(min(deadlineInterval, readerInterval, unread.isEmpty ? .max : Self.unreadInterval))
    }

    private mutating func lookAround(now: Int64) {
        if now >= nextUnread {
            nextUnread = now + Self.unreadInterval
            unread.removeAll { $0.showEnd() }
        }
        if readerInterval < .max, now >= nextReaders {
            nextReaders = now + readerInterval
            cutOffReaders(now: now)
        }
        if now >= nextDeadlines {
            nextDeadlines = now + deadlineInterval
            core.registry.shutDownOverdue(now: now)
            core.lingering.closeOverdue(now: now)
        }
    }

    /// Cuts off those that take their answers too slowly, and those that are silent.
    private mutating func cutOffReaders(now: Int64) {
        var known: [UInt64: Reader] = [:]
        for connection in core.registry.all {
            var reader = readers[connection.id] ?? Reader()
            let isAnswering = connection.isAnswering.load(ordering: .relaxed)
            let progress = isAnswering ? connection.sendProgress() : nil
            if isTooSlow(&reader, now: now, progress) {
                connection.giveUpSending()
            } else if isSilent(&reader, connection, now: now, progress) {
                if isAnswering { connection.giveUpSending() } else { connection.cutOff() }
            } else {
                known[connection.id] = reader
            }
        }
        readers = known
    }

    private func isTooSlow(_ reader: inout Reader, now: Int64, _ progress: SendProgress?) -> Bool {
        // Nothing acknowledged at all: a kernel that does not count (there are sandboxes which only pretend to), or a
        // client that is not there, which is silent.
        guard sendPeriod > 0, let progress, progress.taken > 0 else {
            reader.sending = nil
            return false
        }
        if reader.sending != nil { return reader.sending?.isTooSlow(now: now, progress) ?? false }
        reader.sending = SendClock(
            now: now, progress, period: sendPeriod, bytesPerSecond: Int64(core.configuration.minimumAnswerRate))
        return false
    }

    private func isSilent(
        _ reader: inout Reader, _ connection: Connection, now: Int64, _ progress: SendProgress?
    ) -> Bool {
        guard silenceLimit > 0, reader.sending == nil else {
            reader.silence.rest()
            return false
        }
        let mark = SilenceClock.Mark(
            received: connection.receivedCount.load(ordering: .relaxed), sent: progress)
        guard reader.silence.look(now: now, mark) >= silenceLimit else { return false }
        // While it is suspended, others have to do something.
        if core.suspensions.contains(connection.id) {
            reader.silence.rest()
            return false
        }
        return true
    }
}
