import Outbox

/// The calls of the API about namespaces. The completions are as in the other calls.
extension OutboxService {
    /// Refuses new changes of a namespace that is about to be removed or begun anew, so that no accepted change is lost
    /// without its author's knowledge. The completion gets the number of changes that have not ended. If there are any,
    /// only `discarding` seals the namespace. Call ``unseal(_:)`` after the end.
    package func seal(_ namespace: String, discarding: Bool, completion: @escaping Completion<Int>) {
        reply(completion) { [self] () throws(OutboxFailure) in
            let count = try unended(namespace)
            if count == 0 || discarding { sealed[namespace, default: 0] += 1 }
            return count
        }
    }

    package func unseal(_ namespace: String) {
        queue.async { [self] in
            let count = (sealed[namespace] ?? 1) - 1
            sealed[namespace] = count > 0 ? count : nil
        }
    }

    /// Counts the changes of a namespace that have not ended.
    package func countUnended(in namespace: String, completion: @escaping Completion<Int>) {
        reply(completion) { [self] () throws(OutboxFailure) in try unended(namespace) }
    }

    private func unended(_ namespace: String) throws(OutboxFailure) -> Int {
        guard let store = try storeIfExists() else { return 0 }
        let totals = try mapping { () throws(OutboxError) in try store.totals(namespace: namespace) }
        return totals.counts.reduce(0) { $1.key.isEnded ? $0 : $0 + $1.value }
    }

    /// Removes all changes and credentials of a namespace, sent or not. Breaks off the requests under way, which may
    /// have had their effects.
    package func discard(_ namespace: String, completion: @escaping Completion<Void>) {
        reply(completion) { [self] () throws(OutboxFailure) in
            guard let store = try storeIfExists() else { return }
            try mapping { () throws(OutboxError) in try store.discard(namespace: namespace) }
            tools.pending.removeAll(in: namespace)
            pendingBodies.withLock { $0.removeAll(in: namespace) }
            metrics.removeAll(in: namespace)
            handleDiscard(of: namespace)
            for (flight, transfer) in transfers where transfer.namespace == namespace {
                transfer.transfer.cancel()
                transfers[flight] = nil
            }
        }
    }
}
