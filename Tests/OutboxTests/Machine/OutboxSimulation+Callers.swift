import Primitives

@testable import Outbox

/// The decisions of callers.
extension OutboxSimulation {
    func decide() {
        // A blocked change needs a credential, no decision.
        let held = shell.rows.values.filter { $0.state.stopsLane && $0.state != .blocked }
        guard let held = held.min(by: { $0.id < $1.id }) else { return }
        guard let edit = edits[held.id] else {
            // The operator looks into the origin's log.
            shell.step(origin.posts.contains(held.id) ? .resolve(held.id, .theirs) : .retry(held.id))
            return
        }
        guard held.state == .conflict else { return problems.append("change \(held.id) is \(held.state)") }
        conflicts += 1
        switch Int.random(in: 0..<3, using: &random) {
        case 0: shell.step(.retry(held.id))
        case 1: shell.step(.resolve(held.id, .theirs))
        case _ where held.theirs != nil && (held.theirs?.body == nil || chance(1, of: 2)):
            // Without its base, the change would replace a version that its author has not seen.
            guard held.problem?.kind == .clash, held.draft.base.version?.body != nil else {
                return shell.step(.resolve(held.id, .theirs))
            }
            decisions[held.id, default: 0] += 1
            victories += 1
            shell.step(.resolve(held.id, .ours))
        default:
            decisions[held.id, default: 0] += 1
            let theirs = held.theirs?.body.map { FlatObject($0) } ?? FlatObject([:])
            let body = edit.values.reduce(theirs) { $0.setting($1.key, $1.value) }
            shell.step(.resolve(held.id, .body(body.bytes)))
        }
    }

    /// Makes one change of two or three neighbours, which may be made on different versions, and may clash.
    func squash() {
        let url = urls.randomElement(using: &random)!
        let pending = shell.rows.values.filter { $0.state == .pending && $0.draft.target.url == url }.map(\.id).sorted()
        let count = Int.random(in: 2...3, using: &random)
        guard pending.count >= count else { return }
        let ids = Array(pending.suffix(count))
        guard ids.allSatisfy({ shell.machine.deciding[$0] == nil }) else { return }
        squashing[ids[0]] = ids
        shell.step(.squash(ids))
    }

    /// Gives the edits of squashed changes to the changes that have survived.
    func noteSquashes() {
        for (first, ids) in squashing.sorted(by: { $0.key < $1.key }) {
            if shell.rows[first]!.problem?.kind == .squashed {
                squashes += 1
                edits[ids.last!]!.values = ids.reduce(into: [:]) { $0.merge(edits[$1]!.values) { $1 } }
            } else if shell.machine.deciding[first] != nil {
                continue
            }
            squashing[first] = nil
        }
    }

    func cancel() {
        guard let id = shell.rows.values.filter({ !$0.state.isEnded }).map(\.id).sorted().randomElement(using: &random)
        else { return }
        shell.step(.cancel(id))
    }
}
