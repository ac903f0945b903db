import CCurl
import Primitives
import Synchronization

/// A started transfer, which continues when the caller releases this object. Any thread may call its methods.
/// ``resume()`` clears `isHeld` before it wakes the transfer's thread, so this thread then delivers all held bytes.
package final class OriginTransfer: Sendable {
    private let inbox: Inbox
    let id: UInt64
    private let isHeld = Atomic<Bool>(false)

    init(id: UInt64, inbox: Inbox) {
        self.id = id
        self.inbox = inbox
    }

    /// Ends the transfer with ``OriginError/Kind/cancelled``. Until this end, the receiver may still get bytes.
    package func cancel() {
        inbox.append(.cancel(id, onlyIfWaiting: false))
    }

    /// Cancels the transfer if it waits in the queue: before its first request, or before a redirect to another origin.
    package func cancelIfWaiting() {
        inbox.append(.cancel(id, onlyIfWaiting: true))
    }

    /// Stops the delivery of the body after the current piece and all bytes that are decoded from it. The head still
    /// arrives, and so does the end of a transfer without further bytes. Over HTTP/2, other transfers on the connection
    /// may have to wait, too. The pause counts against the time limit of the whole transfer, but not as a stall.
    package func pause() {
        isHeld.store(true, ordering: .releasing)
    }

    package func resume() {
        if isHeld.exchange(false, ordering: .acquiringAndReleasing) { wake() }
    }

    var isPaused: Bool { isHeld.load(ordering: .acquiring) }

    /// Makes the transfer's thread continue to receive and to send.
    func wake() {
        inbox.append(.wake(id))
    }
}

/// Passes commands from other threads to a loop, in order, and wakes the loop. ``append(_:)`` refuses a command once
/// the inbox is closed, before the loop frees the multi handle. The wake-up, under the lock, never blocks.
final class Inbox: Sendable {
    enum Command: Sendable {
        case start(OriginTransfer, OriginRequest, any OriginReceiver)
        /// The transfer leaves the queue and runs.
        case run(UInt64)
        case cancel(UInt64, onlyIfWaiting: Bool)
        /// The transfer continues to receive and to send, or fails because its upload failed.
        case wake(UInt64)
        case shutDown
    }

    private struct State {
        var commands: [Command] = []
        /// The address of the multi handle; `nil` once the inbox is closed.
        var multi: UInt?
        var openTransfers = 0
    }

    private let state: Locked<State>

    init(multi: UnsafeMutableRawPointer) {
        state = Locked(State(multi: UInt(bitPattern: multi)))
    }

    var openTransfers: Int { state.withLock(\.openTransfers) }

    func noteEnd() {
        state.withLock { $0.openTransfers -= 1 }
    }

    /// `false` when the inbox is closed.
    @discardableResult
    func append(_ command: Command) -> Bool {
        state.withLock { state in
            guard let multi = state.multi else { return false }
            // The loop takes all commands at once, so only the first command needs to wake it.
            if state.commands.isEmpty { curl_multi_wakeup(UnsafeMutableRawPointer(bitPattern: multi)) }
            state.commands.append(command)
            if case .start = command { state.openTransfers += 1 }
            return true
        }
    }

    /// Takes all waiting commands, in order. With `closing`, also closes the inbox, so that no commands follow.
    func takeAll(closing: Bool = false) -> [Command] {
        state.withLock { state in
            defer { state.commands = [] }
            if closing { state.multi = nil }
            return state.commands
        }
    }
}

/// Decides which transfers may run: a limited number in total, and a limited number per host. The waiting transfers of
/// a host start in the order of arrival, and the hosts take turns. Every operation takes constant amortised time.
struct TransferQueue {
    // The transfers of a host. A `Line` is removed from the table while it changes, so that its array is not copied.
    private struct Line {
        var running = 0
        var waiting = FIFO<UInt64>()
        /// Whether the host is in `turns`: it has a waiting transfer and is below the limit per host.
        var hasTurn = false
    }

    private let limit: Int
    private let limitPerHost: Int
    private var lines: [String: Line] = [:]
    private var hosts: [UInt64: String] = [:]
    private var runningTransfers: Set<UInt64> = []
    private var turns = FIFO<String>()

    /// A limit below 1 counts as 1.
    init(limit: Int, limitPerHost: Int) {
        self.limit = max(limit, 1)
        self.limitPerHost = max(limitPerHost, 1)
    }

    var runningCount: Int { runningTransfers.count }
    var waitingCount: Int { hosts.count - runningTransfers.count }

    /// Adds a transfer behind the waiting transfers of its host; with `first`, before them, because it has run already.
    mutating func enqueue(_ transfer: UInt64, host: String, first: Bool = false) {
        precondition(hosts[transfer] == nil, "a transfer is in the queue twice")
        hosts[transfer] = host
        var line = lines.removeValue(forKey: host) ?? Line()
        if first { line.waiting.prepend(transfer) } else { line.waiting.append(transfer) }
        giveTurn(to: host, &line)
        lines[host] = line
    }

    /// Returns the next transfer that may run, and counts it as running; `nil` when no transfer may run.
    mutating func next() -> UInt64? {
        guard runningTransfers.count < limit else { return nil }
        while let host = turns.popFirst(isHere: { _ in true }) {
            guard var line = lines.removeValue(forKey: host) else { continue }
            line.hasTurn = false
            let transfer = line.waiting.popFirst { hosts[$0] == host && !runningTransfers.contains($0) }
            if let transfer {
                line.running += 1
                runningTransfers.insert(transfer)
            }
            giveTurn(to: host, &line)
            store(line, for: host)
            if let transfer { return transfer }
        }
        return nil
    }

    /// Removes a running or waiting transfer. Has no effect for an unknown transfer.
    mutating func remove(_ transfer: UInt64) {
        guard let host = hosts.removeValue(forKey: transfer), var line = lines.removeValue(forKey: host) else { return }
        if runningTransfers.remove(transfer) != nil {
            line.running -= 1
        } else {
            line.waiting.forgetOne { hosts[$0] == host && !runningTransfers.contains($0) }
        }
        giveTurn(to: host, &line)
        store(line, for: host)
    }

    private mutating func giveTurn(to host: String, _ line: inout Line) {
        guard !line.hasTurn, !line.waiting.isEmpty, line.running < limitPerHost else { return }
        line.hasTurn = true
        turns.append(host)
    }

    private mutating func store(_ line: Line, for host: String) {
        lines[host] = line.running == 0 && line.waiting.isEmpty ? nil : line
    }
}

/// A queue. `popFirst` skips elements that were removed before their turn; ``forgetOne(isHere:)`` drops them.
private struct FIFO<Element> {
    private var elements: [Element] = []
    private var head = 0
    private var goneCount = 0
    var isEmpty: Bool { elements.count - head == goneCount }

    mutating func append(_ element: Element) {
        elements.append(element)
    }

    mutating func prepend(_ element: Element) {
        if head > 0 {
            head -= 1
            elements[head] = element
        } else {
            elements.insert(element, at: 0)
        }
    }

    mutating func popFirst(isHere: (Element) -> Bool) -> Element? {
        while head < elements.count {
            let element = elements[head]
            head += 1
            if head > 64 && head * 2 > elements.count {
                elements.removeSubrange(..<head)
                head = 0
            }
            if isHere(element) { return element }
            goneCount -= 1
        }
        return nil
    }

    /// Counts an element that was removed before its turn. Drops all such elements when they outnumber the others.
    mutating func forgetOne(isHere: (Element) -> Bool) {
        goneCount += 1
        guard goneCount > 64, goneCount * 2 > elements.count - head else { return }
        elements = elements[head...].filter(isHere)
        head = 0
        goneCount = 0
    }
}

/// The places for running transfers, which all loops of a client share. Any loop gives places to the transfers of all
/// loops, and informs another loop through its inbox. The number of a transfer identifies its loop.
final class TransferPlaces: Sendable {
    private let queue: Locked<TransferQueue>
    private let inboxes: [Inbox]

    init(limit: Int, limitPerHost: Int, inboxes: [Inbox]) {
        queue = Locked(TransferQueue(limit: limit, limitPerHost: limitPerHost))
        self.inboxes = inboxes
    }

    var counts: (running: Int, waiting: Int) { queue.withLock { ($0.runningCount, $0.waitingCount) } }

    func enqueue(_ transfer: UInt64, host: String, first: Bool) {
        queue.withLock { $0.enqueue(transfer, host: host, first: first) }
    }

    func remove(_ transfer: UInt64) {
        queue.withLock { $0.remove(transfer) }
    }

    /// Gives each free place to a waiting transfer. Returns the calling loop's transfers, and informs the other loops.
    func giveTurns(in own: Inbox) -> [UInt64] {
        let running = queue.withLock { queue in
            var running: [UInt64] = []
            while let transfer = queue.next() { running.append(transfer) }
            return running
        }
        return running.filter { transfer in
            let inbox = inboxes[Int(transfer % UInt64(inboxes.count))]
            if inbox === own { return true }
            // The transfer's loop has ended, so the transfer must not hold a place.
            if !inbox.append(.run(transfer)) { remove(transfer) }
            return false
        }
    }
}
