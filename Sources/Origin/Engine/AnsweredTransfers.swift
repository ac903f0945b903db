/// The transfers that got the head of their response since the last ``tellPause()``. Confined to a single thread of the
/// client.
final class AnsweredTransfers {
    private var transfers: [Transfer] = []

    /// Adds a transfer that got the head of its final response.
    func note(_ transfer: Transfer) {
        transfers.append(transfer)
    }

    /// Tells the receivers of unfinished transfers that libcurl has read all available bytes. Delivers the heads that
    /// were held back until now.
    ///
    /// - Returns: the transfers that a receiver ended by refusing its head.
    func tellPause() -> [Transfer] {
        guard !transfers.isEmpty else { return [] }
        let waiting = transfers.filter { $0.phase == .receiving }
        // The list is cleared early, because transfers keep much memory alive, and because a receiver can cause further
        // entries.
        transfers.removeAll(keepingCapacity: true)
        var refused: [Transfer] = []
        for transfer in waiting {
            if transfer.deliverHeldHead() { transfer.receiver.originDidPause() } else { refused.append(transfer) }
        }
        return refused
    }
}
