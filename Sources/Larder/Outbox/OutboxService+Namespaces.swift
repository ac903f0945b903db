import Outbox

/// The calls of the API about namespaces. The completions are as in the other calls.
extension OutboxService {
    /// The reason for ``seal(_:for:discarding:completion:)``.
    package enum Sealing: Sendable {
        case newVersion
        case removal
    }

    /// Refuses new changes and credentials of a namespace that is about to be removed or begun anew, so that no
    /// accepted change is lost without its author's knowledge. The completion gets the number of changes that have not
    /// ended. If there are any, only `discarding` seals the namespace. Call ``unseal(_:)`` after the end.
    ///
    /// A removal is noted in the database. If the process ends before ``discard(_:completion:)``, or if this call
    /// fails, the changes and credentials are discarded by the next start, by ``maintain()``, or by
    /// ``prepare(_:completion:)`` for a new namespace with the name.
    package func seal(
        _ namespace: String, for sealing: Sealing, discarding: Bool, completion: @escaping Completion<Int>
    ) {
        reply(completion) { [self] () throws(OutboxFailure) in
            let count = try unended(namespace)
            guard count == 0 || discarding else { return count }
            if sealing == .removal, tools.namespace(namespace) != nil, let store = try storeIfExists() {
                try mapping { () throws(OutboxError) in try store.noteRemoval(of: namespace) }
            }
            sealed[namespace, default: 0] += 1
            return count
        }
    }

    package func unseal(_ namespace: String) {
        queue.async { [self] in
            let count = (sealed[namespace] ?? 1) - 1
            sealed[namespace] = count > 0 ? count : nil
            guard count <= 0, case .open(let store, _) = phase else { return }
            endRemovals(store)
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
            try mapping { () throws(OutboxError) in try discard(namespace, store) }
        }
    }

    /// Makes sure that a new namespace does not get the changes and credentials of a removed one with its name. Call
    /// this before the namespace is created.
    package func prepare(_ namespace: String, completion: @escaping Completion<Void>) {
        reply(completion) { [self] () throws(OutboxFailure) in
            guard tools.namespace(namespace) == nil, let store = try storeIfExists() else { return }
            try mapping { () throws(OutboxError) in
                if try store.removals().contains(namespace) { try discard(namespace, store) }
            }
        }
    }

    /// Goes on with the changes of a namespace that has been created, which an earlier one with its name may have left
    /// when the cache was lost.
    package func namespaceMade(_ namespace: String) { report(.namespaceFound(namespace)) }

    /// Refuses a namespace that does not exist any more, or that is being removed or begun anew.
    func checkOpen(_ namespace: String) throws(OutboxFailure) {
        guard sealed[namespace] == nil, tools.namespace(namespace) != nil else { throw .namespaceChanging(namespace) }
    }

    // MARK: - Removals, on `queue`

    private func discard(_ namespace: String, _ store: OutboxStore) throws(OutboxError) {
        try store.discard(namespace: namespace)
        tools.pending.removeAll(in: namespace)
        pendingBodies.withLock { $0.removeAll(in: namespace) }
        metrics.removeAll(in: namespace)
        handleDiscard(of: namespace)
        for (flight, transfer) in transfers where transfer.namespace == namespace {
            transfer.transfer.cancel()
            transfers[flight] = nil
        }
    }

    /// Ends the removals that a kill or a failure has interrupted. Returns the namespaces that have been removed but
    /// still have rows, because the database fails.
    @discardableResult
    func endRemovals(_ store: OutboxStore) -> Set<String> {
        var left: Set<String> = []
        do {
            for namespace in try store.removals() where sealed[namespace] == nil {
                if tools.namespace(namespace) != nil {
                    try store.forgetRemoval(of: namespace)
                } else {
                    left.insert(namespace)
                    try discard(namespace, store)
                    left.remove(namespace)
                }
            }
        } catch {
            tools.logger.warning(
                "the changes and credentials of a removed namespace cannot be discarded",
                metadata: ["namespaces": "\(left.sorted().joined(separator: " "))", "reason": "\(error)"])
        }
        return left
    }
}
