import Outbox

/// The decisions of callers. A merge may come before the state of a decision is durable, so the caller waits for it.
extension OutboxService {
    package enum Decision: Sendable {
        case cancel
        case retry
        case resolve(Resolution)
    }

    /// Whether a condition of the request holds for a resource that exists, or does not; `nil`: there is no condition.
    package typealias Condition = @Sendable (_ exists: Bool) -> Bool

    /// Applies a caller's decision. The completion gets the change after the decision, which is durable.
    package func decide(
        _ decision: Decision, about id: Change.ID, in namespace: String, condition: Condition? = nil,
        completion: @escaping Completion<Change>
    ) {
        queue.async { [self] in
            do throws(OutboxFailure) {
                _ = try change(id, namespace)
                guard condition?(true) != false else { throw .conditionFailed }
            } catch {
                return completion(.failure(error))
            }
            let event: OutboxEvent =
                switch decision {
                case .cancel: .cancel(id)
                case .retry: .retry(id)
                case .resolve(let resolution): .resolve(id, resolution)
                }
            handle(event, for: Decider(leader: id, shown: id, namespace: namespace, completion: completion))
        }
    }

    /// Makes one change of neighbours in one lane. The completion gets the change that survives, which is the last.
    package func squash(
        _ ids: Set<Change.ID>, in namespace: String, completion: @escaping Completion<Change>
    ) {
        queue.async { [self] in
            let ids = ids.sorted()
            do throws(OutboxFailure) {
                for id in ids { _ = try change(id, namespace) }
            } catch {
                return completion(.failure(error))
            }
            guard ids.count > 1, let first = ids.first, let last = ids.last else {
                return completion(.failure(.refused(.invalid(.squash("expected at least two changes")))))
            }
            handle(
                .squash(ids), for: Decider(leader: first, shown: last, namespace: namespace, completion: completion))
        }
    }

    // MARK: - The outcome, on `queue`

    /// The caller of a decision.
    struct Decider {
        /// The first change of the decision, by which the machine names it.
        let leader: Change.ID
        /// The change that the answer shows.
        let shown: Change.ID
        let namespace: String
        let completion: Completion<Change>
    }

    /// Notes a decision that the machine is about to begin. Returns `false` if the machine still works on an earlier
    /// one about the same change; then the caller has its answer.
    func begin(_ decider: Decider) -> Bool {
        guard deciders[decider.leader] == nil else {
            decider.completion(.failure(.refused(.busy)))
            return false
        }
        deciders[decider.leader] = decider
        return true
    }

    /// Answers the caller of a decision that is durable. While a decision is under way, the machine publishes its
    /// changes for no other reason.
    func concluded(_ id: Change.ID) {
        guard let decider = deciders.removeValue(forKey: id) else { return }
        decider.completion(
            Result { () throws(OutboxFailure) in withWait(try change(decider.shown, decider.namespace)) })
    }

    func refused(_ leader: Change.ID, _ reason: Refusal) {
        deciders.removeValue(forKey: leader)?.completion(.failure(.refused(reason)))
    }
}
