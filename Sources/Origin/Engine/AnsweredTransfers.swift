/// The transfers whose head has come since libcurl began to look at what there is. Confined to one of the client's
/// threads.
final class AnsweredTransfers {
    private var transfers: [Transfer] = []

    /// The head of its final answer has come.
    func note(_ transfer: Transfer) {
        transfers.append(transfer)
    }

    /// libcurl has looked at all that there is: those that are not over wait for more.
    func tellPause() {
        guard !transfers.isEmpty else { return }
        let waiting = transfers.filter { $0.phase == .receiving }
        // They keep much alive; and what a receiver does may bring more.
        transfers.removeAll(keepingCapacity: true)
        for transfer in waiting { transfer.receiver.originDidPause() }
    }
}
