import Foundation
import Primitives

/// The loop of the thread that watches all connections. It notices clients that hang up. It cuts off clients that are
/// too slow with a request or an answer, or silent for too long. All members belong to this thread.
struct Watcher {
    private let core: DaemonCore
    /// The time between deadline checks, in ms: a quarter of ``DaemonConfiguration/requestDeadline``, 5 to 1000.
    private let deadlineInterval: Int64
    private var nextDeadlines: Int64 = 0
    /// The connections with a client that hung up while the socket held bytes that libmicrohttpd had not read.
    private var unread: [Connection] = []
    private var nextUnread: Int64 = 0
    /// The time between checks of `unread`, in milliseconds. A check lets libmicrohttpd see that the client hung up.
    private static let unreadInterval: Int64 = 100

    /// ``DaemonConfiguration/answerPeriod`` in milliseconds; 0: no minimum rate applies.
    private let sendPeriod: Int64
    /// ``DaemonConfiguration/inactivityTimeout`` in milliseconds; 0: no limit.
    private let silenceLimit: Int64
    /// The time between checks of the rate at which clients read, and of their silence, in milliseconds.
    private let readerInterval: Int64
    /// The clocks of each connection at the last check, by ``Connection/id``.
    private var readers: [UInt64: Reader] = [:]
    private var nextReaders: Int64 = 0

    private struct Reader {
        /// `nil` while no answer is under way, and where the kernel does not count acknowledged bytes.
        var sending: SendClock?
        var silence = SilenceClock()
    }

    init(core: DaemonCore) {
        self.core = core
        let configuration = core.configuration
        sendPeriod = configuration.minimumAnswerRate > 0 ? max(0, configuration.answerPeriod.milliseconds) : 0
        silenceLimit = max(0, configuration.inactivityTimeout.milliseconds)
        deadlineInterval = max(5, min(1000, (core.requestMilliseconds ?? .max) / 4))
        // Twelve checks per limit are exact enough. Between two checks, even a distant client can acknowledge bytes.
        readerInterval = max(1, [sendPeriod, silenceLimit].filter { $0 > 0 }.min().map { $0 / 12 } ?? .max)
    }

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
            core.registry.shutDownOverdue(now: now, answer: core.lateAnswer)
            core.lingering.closeOverdue(now: now)
        }
    }

    private mutating func cutOffReaders(now: Int64) {
        var known: [UInt64: Reader] = [:]
        for connection in core.registry.all {
            var reader = readers[connection.id] ?? Reader()
            let isAnswering = connection.isAnswering.load(ordering: .relaxed)
            let progress = isAnswering ? connection.sendProgress() : nil
            if isTooSlow(&reader, now: now, progress) {
                connection.giveUpSending()
            } else if isSilent(&reader, connection, now: now, progress) {
                if isAnswering { connection.giveUpSending() } else { connection.cutOff(with: core.lateAnswer) }
            } else {
                known[connection.id] = reader
            }
        }
        readers = known
    }

    private func isTooSlow(_ reader: inout Reader, now: Int64, _ progress: SendProgress?) -> Bool {
        // `taken` is 0 if the kernel does not count (as in some sandboxes), or if the client has acknowledged no byte.
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
        // While the connection is suspended, the client waits for the server, so its silence does not count.
        if core.suspensions.contains(connection.id) {
            reader.silence.rest()
            return false
        }
        return true
    }
}
