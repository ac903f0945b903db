/// The transfers whose head has come since libcurl began to look at what there is. Confined to one of the client's
/// threads.
final class AnsweredTransfers {
    private var transfers: [Transfer] = []

    /// The head of its final answer has come.
    func note(_ transfer: Transfer) {
        transfers.append(transfer)
    }

    /// libcurl has looked at all that there is: transfers that are not over wait for more.
    ///
    /// - Returns: those whose receivers refuse the head, which they see only now.
    func tellPause() -> [Transfer] {
        guard !transfers.isEmpty else { return [] }
        let waiting = transfers.filter { $0.phase == .receiving }
        // They keep much alive; and what a receiver does may bring more.
        transfers.removeAll(keepingCapacity: true)
        var refused: [Transfer] = []
        for transfer in waiting {
            if transfer.deliverHeldHead() { transfer.receiver.originDidPause() } else { refused.append(transfer) }
        }
        return refused
    }
}
