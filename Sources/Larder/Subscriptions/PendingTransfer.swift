import Origin
import Primitives

/// A request of a subscription from its beginning to its end, which a new definition or the end of the subscription
/// cancels. The receiver of a cancelled transfer gets its end as after a failure.
final class PendingTransfer: Sendable {
    private struct State {
        var transfer: OriginTransfer?
        var isCancelled = false
    }

    private let state = Locked(State())

    /// Begins the request, or one that follows it. After a cancellation, the new request is cancelled at once.
    func begin(_ request: OriginRequest, with client: OriginClient, receiver: any OriginReceiver) {
        let transfer = client.fetch(request, receiver: receiver)
        let isCancelled = state.withLock { state in
            state.transfer = transfer
            return state.isCancelled
        }
        if isCancelled { transfer.cancel() }
    }

    func cancel() {
        let transfer = state.withLock { state in
            state.isCancelled = true
            return state.transfer
        }
        transfer?.cancel()
    }
}
