import Primitives

/// The places that all loops of a client share, and who waits for one: a ``TransferQueue`` under a lock.
///
/// Any loop may find that somebody's turn has come, for a place may become free in one loop while the next in line
/// belongs to another: that one is told through its inbox. A transfer's number says whose it is.
final class TransferPlaces: Sendable {
    private let queue: Locked<TransferQueue>
    private let inboxes: [Inbox]

    init(limit: Int, limitPerHost: Int, inboxes: [Inbox]) {
        queue = Locked(TransferQueue(limit: limit, limitPerHost: limitPerHost))
        self.inboxes = inboxes
    }

    /// How many transfers run, and how many wait for their turn.
    var counts: (running: Int, waiting: Int) { queue.withLock { ($0.runningCount, $0.waitingCount) } }

    /// Puts a transfer at the end of its host's line; at its beginning when it had its turn before.
    func enqueue(_ transfer: UInt64, host: String, first: Bool) {
        queue.withLock { $0.enqueue(transfer, host: host, first: first) }
    }

    /// Forgets a transfer, whether it runs or waits; nothing happens when it is not here.
    func remove(_ transfer: UInt64) {
        queue.withLock { $0.remove(transfer) }
    }

    /// Gives every free place to the next in line, and returns those of one loop; the others' loops are told.
    func giveTurns(in own: Inbox) -> [UInt64] {
        let running = queue.withLock { queue in
            var running: [UInt64] = []
            while let transfer = queue.next() { running.append(transfer) }
            return running
        }
        return running.filter { transfer in
            let inbox = inboxes[Int(transfer % UInt64(inboxes.count))]
            if inbox === own { return true }
            // A loop that has ended holds no place.
            if !inbox.append(.run(transfer)) { remove(transfer) }
            return false
        }
    }
}
