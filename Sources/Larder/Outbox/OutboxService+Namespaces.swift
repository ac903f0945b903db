import Outbox

/// The calls of the API about namespaces. The completions are as in the other calls.
extension OutboxService {
    package struct Seal: Sendable {
        /// The number of changes that have not ended.
        package let unended: Int
        /// Whether the call has discarded changes or credentials that an earlier call should have discarded.
        package let hasDiscarded: Bool
    }

    /// Refuses new changes and credentials of a namespace that is about to be removed or begun anew, so that no
    /// accepted change is lost without its author's knowledge. If there are changes that have not ended, only
    /// `discarding` seals the namespace. Call ``unseal(_:)`` after the end. A namespace that does not exist is sealed
    /// for its creation if it must lose the changes that wait for it, because the cache was lost.
    ///
    /// A removal, and a new version or a creation with `discarding`, are noted in the database. If the process ends
    /// before ``discard(_:completion:)``, or if that call fails, the changes and credentials are discarded by the next
    /// start, by ``maintain()``, or by the next call about the namespace, which fails as long as the database refuses
    /// this. Until then, none of the changes is sent. While a call with a note is under way, a call with another cause
    /// is refused.
    package func seal(
        _ namespace: String, for cause: DiscardCause, discarding: Bool, completion: @escaping Completion<Seal>
    ) {
        reply(completion) { [self] () throws(OutboxFailure) in
            let isNoted = cause == .removal || discarding
            let store = try storeIfExists()
            let hasDiscarded = try store.map { store throws(OutboxFailure) in
                try settle(namespace, store, for: isNoted ? cause : nil)
            }
            let seal = Seal(unended: try unended(namespace), hasDiscarded: hasDiscarded ?? false)
            guard seal.unended == 0 || discarding else { return seal }
            // A removal of a missing namespace fails. Another call may have created the namespace, with its changes.
            let exists = tools.namespace(namespace) != nil
            // The note of a version that another call has given would discard the changes of this version.
            if isNoted, exists == (cause != .creation), !hasHappened(cause, to: namespace), let store {
                try mapping { () throws(OutboxError) in try store.noteDiscard(of: namespace, for: cause) }
                if cause == .creation { beingCreated.insert(namespace) }
            }
            sealed[namespace, default: 0] += 1
            return seal
        }
    }

    package func unseal(_ namespace: String) {
        queue.async { [self] in
            let count = (sealed[namespace] ?? 1) - 1
            sealed[namespace] = count > 0 ? count : nil
            if count <= 0 { beingCreated.remove(namespace) }
            guard count <= 0, case .open(let store, _) = phase else { return }
            endDiscards(store)
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
    /// have had their effects. Listeners get an event for each change that had not ended. The completion gets `false`
    /// if there were neither changes nor credentials.
    package func discard(_ namespace: String, completion: @escaping Completion<Bool>) {
        reply(completion) { [self] () throws(OutboxFailure) in
            guard let store = try storeIfExists() else { return false }
            do throws(OutboxFailure) {
                return try mapping { () throws(OutboxError) in try discard(namespace, store) }
            } catch {
                hold([namespace])
                throw error
            }
        }
    }

    /// Makes sure that a namespace does not get the changes and credentials that a removed one with its name, or its
    /// earlier version, should have lost. The completion gets `true` if there were any, which are discarded now. Call
    /// this before the namespace is created, if ``seal(_:for:discarding:completion:)`` is not called.
    package func prepare(_ namespace: String, completion: @escaping Completion<Bool>) {
        reply(completion) { [self] () throws(OutboxFailure) in
            guard let store = try storeIfExists() else { return false }
            return try settle(namespace, store, for: nil)
        }
    }

    /// Goes on with the changes of a namespace that has been created, which an earlier one with its name may have left
    /// when the cache was lost. Call this after the discard, if there is one.
    package func namespaceMade(_ namespace: String) { report(.namespaceFound(namespace)) }

    /// Refuses a namespace that does not exist any more, or that is being removed or begun anew.
    func checkOpen(_ namespace: String) throws(OutboxFailure) {
        guard sealed[namespace] == nil, openNamespace(namespace) != nil else { throw .namespaceChanging(namespace) }
    }

    /// Returns the services of a namespace; `nil`: there is no such namespace, or its changes are to be discarded.
    func openNamespace(_ namespace: String) -> FetchTools? { isHeld(namespace) ? nil : tools.namespace(namespace) }

    /// Whether the namespace has changes and credentials that are to be discarded, so that they have no effect.
    func isHeld(_ namespace: String) -> Bool { undiscarded.contains(namespace) || beingCreated.contains(namespace) }

    // MARK: - Discards, on `queue`

    @discardableResult
    private func discard(_ namespace: String, _ store: OutboxStore) throws(OutboxError) -> Bool {
        // Rows that cannot be read are discarded without events.
        let unended = tools.events.isWanted ? (try? store.unended()) ?? [] : []
        let hasDiscarded = try store.discard(namespace: namespace)
        undiscarded.remove(namespace)
        hideChanges(of: namespace)
        metrics.removeAll(in: namespace)
        handleDiscard(of: namespace)
        for (flight, transfer) in transfers where transfer.namespace == namespace {
            transfer.transfer.cancel()
            transfers[flight] = nil
        }
        publishEnds(of: unended.filter { $0.namespace == namespace })
        return hasDiscarded
    }

    /// A confirmed change has had its effect. Any other one is cancelled with the namespace.
    private func publishEnds(of changes: [ChangeSummary]) {
        let now = tools.clock.now()
        tools.events.publish(
            changes.map { change in
                var change = change
                (change.state, change.problem) = (change.state == .confirmed ? .done : .cancelled, nil)
                change.nextAttempt = nil
                return Event(kind: .outboxChanged, time: now, namespace: change.namespace, subject: .change(change))
            })
    }

    /// Keeps the changes of namespaces from origins and readers until they are discarded.
    private func hold(_ namespaces: some Sequence<String>) {
        for namespace in namespaces where undiscarded.insert(namespace).inserted { hideChanges(of: namespace) }
    }

    private func hideChanges(of namespace: String) {
        tools.pending.removeAll(in: namespace)
        pendingBodies.withLock { $0.removeAll(in: namespace) }
    }

    /// Ends a discard that an earlier call should have made, or takes back the note of a call that has failed. Thus no
    /// later note replaces the note of a discard that is due, and no later call causes a discard that it does not want.
    /// Returns whether changes or credentials were discarded.
    ///
    /// - Parameter cause: the cause that the caller will note; `nil`: none. Calls that note the same cause can be under
    ///   way together.
    private func settle(
        _ namespace: String, _ store: OutboxStore, for cause: DiscardCause?
    ) throws(OutboxFailure) -> Bool {
        let noted = try mapping { () throws(OutboxError) in try store.notedDiscards()[namespace] }
        if undiscarded.contains(namespace) || noted.map({ hasHappened($0, to: namespace) }) == true {
            return try mapping { () throws(OutboxError) in try discard(namespace, store) }
        }
        guard let noted else { return false }
        if sealed[namespace] == nil {
            try mapping { () throws(OutboxError) in try store.forgetDiscard(of: namespace) }
        } else if noted != cause {
            throw .namespaceChanging(namespace)
        }
        return false
    }

    /// Whether a noted removal, new version or creation has happened. If not, the process ended before it, it failed,
    /// or its call is still under way.
    private func hasHappened(_ cause: DiscardCause, to namespace: String) -> Bool {
        let exists = tools.namespace(namespace) != nil
        return switch cause {
        case .removal: !exists
        case .newVersion(let version): !exists || tools.version(namespace) == version
        // Another call may have created the namespace. After a start, the call that did so is not known.
        case .creation: exists && isStarting
        }
    }

    private var isStarting: Bool { if case .closed = phase { true } else { false } }

    /// Ends the discards that a kill or a failure has interrupted, and notes in `undiscarded` the namespaces that still
    /// have rows, because the database fails.
    func endDiscards(_ store: OutboxStore) {
        do {
            let noted = try store.notedDiscards().filter { sealed[$0.key] == nil }
            // A sealed namespace stays in the set.
            hold(noted.filter { hasHappened($0.value, to: $0.key) }.keys)
            for namespace in noted.keys where !undiscarded.contains(namespace) {
                try store.forgetDiscard(of: namespace)
            }
            for namespace in undiscarded { try discard(namespace, store) }
        } catch {
            tools.logger.warning(
                "the changes and credentials of a removed namespace or an earlier version cannot be discarded",
                metadata: [
                    "namespaces": "\(undiscarded.sorted().joined(separator: " "))", "reason": "\(error)",
                ])
        }
    }
}
