import Primitives

/// The places for running transfers that all loops of a client share, and the queue for them: a ``TransferQueue`` under
/// a lock.
///
/// A place can become free in a loop while the next transfer belongs to another loop. Any loop therefore gives places
/// to transfers, and informs another loop through its inbox. The number of a transfer identifies its loop.
final class TransferPlaces: Sendable {
    private let queue: Locked<TransferQueue>
    private let inboxes: [Inbox]

    init(limit: Int, limitPerHost: Int, inboxes: [Inbox]) {
        queue = Locked(TransferQueue(limit: limit, limitPerHost: limitPerHost))
        self.inboxes = inboxes
    }

    /// The numbers of running and of waiting transfers.
    var counts: (running: Int, waiting: Int) { queue.withLock { ($0.runningCount, $0.waitingCount) } }

    /// Adds a transfer at the end of its host's line.
    ///
    /// - Parameter first: whether the transfer goes to the front, because it had its turn before.
    func enqueue(_ transfer: UInt64, host: String, first: Bool) {
        queue.withLock { $0.enqueue(transfer, host: host, first: first) }
    }

    /// Removes a running or waiting transfer; has no effect for an unknown transfer.
    func remove(_ transfer: UInt64) {
        queue.withLock { $0.remove(transfer) }
    }

    /// Gives every free place to the next waiting transfer. Returns the transfers of the calling loop; informs the
    /// loops of the other transfers.
    func giveTurns(in own: Inbox) -> [UInt64] {
        let running = queue.withLock { queue in
            var running: [UInt64] = []
            while let transfer = queue.next() { running.append(transfer) }
            return running
        }
        return running.filter { transfer in
            let inbox = inboxes[Int(transfer % UInt64(inboxes.count))]
            if inbox === own { return true }
            // A loop that has ended holds no places.
            if !inbox.append(.run(transfer)) { remove(transfer) }
            return false
        }
    }
}
