import Logging
import Origin
import Outbox

/// The actions of the machine, on `queue`. An event that follows from an action waits for the end of the step.
extension OutboxService {
    func perform(_ action: OutboxAction, _ store: OutboxStore, _ client: OriginClient) {
        switch action {
        case .load(let id):
            do {
                handle(.loaded(id, try store.change(id)))
            } catch {
                warn("a change cannot be read", id, error)
                handle(.loadFailed(id))
            }
        case .commit(let changes):
            let ids = changes.map(\.id)
            do {
                let touched = try store.update(changes, now: tools.clock.now())
                for change in changes where touched.contains(change.id) {
                    touch(change.draft.target.key, in: change.draft.namespace)
                }
                handle(.committed(ids))
            } catch {
                warn("a change cannot be stored", ids.first ?? 0, error)
                handle(.commitFailed(ids))
            }
        case .read(let order): read(order, ticket: ticket, store, client)
        case .send(let order): send(order, store, client)
        case .merge(let order):
            merges.async { [self] in
                let result = order.merged()
                report(.merged(order.flight, result))
            }
        case .wake(let date): alarm.set(date) { [weak self] in self?.handle(.timer) }
        case .publish(let summary):
            publish(summary)
            concluded(summary.id)
        case .removeVersion(let order): removeVersion(order)
        case .dropFromView(let summary): dropFromView(summary)
        case .noteRewrite(let note):
            do {
                try store.note(note)
                touch(note.key, in: note.namespace)
            } catch {
                warn("a rewritten base cannot be stored", note.after, error)
            }
        case .notePause(let pause):
            do {
                try store.note(pause)
            } catch {
                tools.logger.warning(
                    "the pause of an origin cannot be stored",
                    metadata: ["origin": "\(pause.origin)", "reason": "\(error)"])
            }
        case .refuse(let leader, let reason): refused(leader, reason)
        }
    }

    private func warn(_ message: Logger.Message, _ id: Change.ID, _ error: OutboxError) {
        tools.logger.warning(message, metadata: ["change": .number(id), "reason": "\(error)"])
    }

    private func publish(_ summary: ChangeSummary) {
        metrics.note(summary)
        if summary.state.stopsLane || summary.state == .expired {
            tools.logger.notice(
                "a change waits for a decision, or has expired",
                metadata: [
                    "change": .number(summary.id), "namespace": "\(summary.namespace)",
                    "state": "\(summary.state.rawValue)", "problem": "\(summary.problem?.kind.rawValue ?? "-")",
                ])
        }
        guard tools.events.isWanted else { return }
        tools.events.publish([
            Event(
                kind: .outboxChanged, time: tools.clock.now(), namespace: summary.namespace, subject: .change(summary))
        ])
    }
}
