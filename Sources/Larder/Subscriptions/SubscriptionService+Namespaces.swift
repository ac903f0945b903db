import Primitives
import Subscriptions

/// A note in the store that the removal of a namespace has begun, for the subscriptions of the namespace.
struct NamespaceMark: Hashable {
    let namespace: String
    /// The number of the namespace. A later namespace with the name has another one.
    let space: Int
}

/// The removals of namespaces. All subscriptions of a namespace end with it, also if the process ends between the two
/// removals, and no subscription of a later namespace with the same name does. Therefore the subscriptions have the
/// number of the namespace (``Namespace/id``) in the store before its removal begins.
extension SubscriptionService {
    /// Call before a namespace is removed, and then ``unseal(_:_:)`` or ``discard(_:_:completion:)`` with the number
    /// that `completion` gets; `nil`: there is no such namespace. Until then no subscription of the namespace begins.
    /// After a failure the namespace must not be removed, because a later one could get its subscriptions.
    package func seal(_ namespace: String, completion: @escaping Completion<Int?>) {
        queue.async { [self] in
            guard let space = tools.namespace(namespace)?.id else { return completion(.success(nil)) }
            forgetRemoved()
            do throws(SubscriptionFailure) {
                try mark(NamespaceMark(namespace: namespace, space: space))
            } catch {
                return completion(.failure(error))
            }
            sealed[space, default: 0] += 1
            completion(.success(space))
        }
    }

    /// The namespace has not been removed.
    package func unseal(_ namespace: String, _ space: Int) {
        queue.async { [self] in
            release(space)
            // Another call may still remove the namespace.
            if sealed[space] == nil, records.values.contains(where: { $0.endingSpace == space }) {
                unmark(NamespaceMark(namespace: namespace, space: space))
            }
        }
    }

    /// Removes the subscriptions of a namespace that has been removed with its entries. Listeners get an event for each
    /// of them, unless a later namespace has the name already.
    package func discard(_ namespace: String, _ space: Int, completion: @escaping @Sendable () -> Void) {
        queue.async { [self] in
            defer { completion() }
            release(space)
            guard case .open(let store) = phase else { return }
            forgetPauses(of: namespace)
            for record in records.values where record.namespace == namespace && record.endingSpace == space {
                discard(record, store)
                if tools.namespace(namespace) == nil { publishEnd(of: record.holder) }
            }
        }
    }

    private func release(_ space: Int) {
        let count = (sealed[space] ?? 1) - 1
        sealed[space] = count > 0 ? count : nil
    }

    private func mark(_ mark: NamespaceMark) throws(SubscriptionFailure) {
        guard let store = try storeIfExists() else { return }
        for old in marksToForget where old.namespace == mark.namespace { try forget(old) }
        do {
            try store.mark(mark.namespace, endingWith: mark.space)
        } catch {
            throw SubscriptionFailure(error)
        }
        for (id, record) in records where record.namespace == mark.namespace && record.endingSpace == nil {
            records[id]?.endingSpace = mark.space
        }
    }

    /// The subscriptions go on. The marks in the store are removed later if this fails now, because a start after the
    /// next version of the namespace would take them for those of a removal.
    private func unmark(_ mark: NamespaceMark) {
        for (id, record) in records where record.namespace == mark.namespace && record.endingSpace == mark.space {
            records[id]?.endingSpace = nil
        }
        do throws(SubscriptionFailure) {
            try forget(mark)
        } catch {
            guard marksToForget.insert(mark).inserted else { return }
            tools.logger.warning(
                "the state of subscriptions cannot note that their namespace was not removed; the note is repeated",
                metadata: ["namespace": "\(mark.namespace)", "reason": "\(error)"])
        }
    }

    private func forget(_ mark: NamespaceMark) throws(SubscriptionFailure) {
        guard let store = try storeIfExists() else { return }
        do {
            try store.unmark(mark.namespace, endingWith: mark.space)
        } catch {
            throw SubscriptionFailure(error)
        }
        marksToForget.remove(mark)
    }

    /// Tries again to remove marks in the store.
    func forgetMarks() {
        for mark in marksToForget { unmark(mark) }
    }

    private func discard(_ record: SubscriptionRecord, _ store: SubscriptionStore) {
        step(.discarded, record.id)
        (records[record.id], lives[record.id]) = (nil, nil)
        for waiter in endings.removeValue(forKey: record.id) ?? [] { waiter(.success(0)) }
        do {
            try store.remove(record.id)
        } catch {
            warn("a subscription cannot be removed", record, "\(error)")
        }
    }

    /// The namespace of a subscription; `nil` without one. A later namespace with the name is another one.
    func space(of record: SubscriptionRecord) -> Namespace? {
        guard let space = tools.namespace(record.namespace) else { return nil }
        return record.endingSpace ?? space.id == space.id ? space : nil
    }

    /// Removes the subscriptions of removed namespaces of which the names are in use again. A removal that runs decides
    /// itself, because the namespace may only have a new version.
    func forgetRemoved() {
        guard case .open(let store) = phase else { return }
        for record in records.values {
            guard let old = record.endingSpace, sealed[old] == nil, let space = tools.namespace(record.namespace),
                space.id != old
            else { continue }
            discard(record, store)
        }
    }

    /// An earlier process has ended before it removed a namespace.
    func forgetUndoneRemovals(_ store: SubscriptionStore) {
        for record in records.values {
            guard let space = record.endingSpace, tools.namespace(record.namespace)?.id == space else { continue }
            unmark(NamespaceMark(namespace: record.namespace, space: space))
        }
    }
}
