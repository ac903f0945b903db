import Primitives

@testable import Outbox

/// The promises that each step, and the end of a history, must keep.
extension OutboxSimulation {
    func checkFlights() {
        // The machine has given up the other flights; their answers have no effect.
        let flights = (shell.reads.map(\.flight) + shell.sends.map(\.flight))
            .filter { shell.machine.lane(of: $0) != nil }
        let lanes = flights.map { shell.rows[$0.change]!.draft.laneName }
        if Set(lanes).count != lanes.count { problems.append("two changes of a lane are under way") }
        if shell.machine.flightCount > shell.machine.flightLimit { problems.append("too many changes are under way") }
        if shell.machine.hosts.values.contains(where: { !(0...2).contains($0.flights) }) {
            problems.append("an origin has too many requests")
        }
    }

    func checkExpiries() {
        for summary in shell.published[checkedPublications...] where summary.state == .expired {
            if summary.method != "POST", unseen.contains(summary.id) {
                problems.append("change \(summary.id) has expired without a look")
            }
        }
        checkedPublications = shell.published.count
    }

    /// No reader may find a version that is older than the effect of a change that is done, unless the cache has failed
    /// to remove it for a long time.
    func checkCache(_ summary: ChangeSummary) {
        guard summary.state == .done, !shell.failsRemovals, let edit = edits[summary.id],
            let version = cached[edit.url],
            let effect = origin.log.firstIndex(where: { $0.change == summary.id }), version <= effect
        else { return }
        problems.append("change \(summary.id) is done, and the cache has an older version")
    }

    /// A squash must change the view of no version that the origin may have.
    func checkSquash(_ changes: [Change]) {
        guard let survivor = changes.last, changes.dropLast().contains(where: { $0.problem?.kind == .squashed }) else {
            return
        }
        let rows = shell.rows.filter { !$0.value.state.isEnded && $0.value.draft.target == survivor.draft.target }
        let after = changes.reduce(into: rows) { rows, change in
            rows[change.id] = change.state.isEnded ? nil : change
        }
        let bodies = rows.values.flatMap { [$0.draft.base.version?.body, $0.draft.ours] }
        for remote in Set(bodies + [nil, origin.resources[survivor.draft.target.url]?.body]) {
            if FlatObject.view(rows.values, over: remote) != FlatObject.view(after.values, over: remote) {
                problems.append("the squash to change \(survivor.id) changes the view")
            }
        }
    }

    func checkEnd() {
        for (id, edit) in edits.sorted(by: { $0.key < $1.key }) {
            let change = shell.rows[id]!
            if !change.state.isEnded { problems.append("change \(id) is still \(change.state)") }
            let effects = origin.log.filter { $0.change == id }
            let hasEffect = effects.contains { effect in
                let members = FlatObject(effect.after).members
                return edit.values.allSatisfy { members[$0.key] == $0.value }
            }
            if change.state == .done, !hasEffect { problems.append("change \(id) is done but was lost") }
            if change.state != .done, hasEffect, !change.mayBeApplied {
                problems.append("change \(id) hides its effect")
            }
        }
        for lane in Set(edits.values.map(\.lane)) {
            var firsts: [Change.ID] = []
            for case let id? in origin.log.map(\.change) where edits[id]?.lane == lane && !firsts.contains(id) {
                firsts.append(id)
            }
            if firsts != firsts.sorted() { problems.append("the order of the lane \(lane) is \(firsts)") }
        }
        for id in postIDs {
            let change = shell.rows[id]!
            let count = origin.posts.filter { $0 == id }.count
            if change.state.isEnded, change.state != .done, count > 0, !change.mayBeApplied {
                problems.append("POST \(id) hides its effect")
            }
            let isRepeated = count > 1 && !wishedPosts.contains(id)
            if isRepeated || (change.state == .done && count == 0) {
                problems.append("POST \(id) is \(change.state) and had \(count) effects")
            }
        }
        if shell.machine.flightCount != 0 { problems.append("\(shell.machine.flightCount) places are not free") }
        shell.now = shell.now + .seconds(900)
        shell.step(.timer)
        if !shell.machine.hosts.isEmpty || !shell.machine.waiting.order.isEmpty {
            problems.append("an origin without changes is kept")
        }
        if !shell.machine.lanes.isEmpty { problems.append("an ended lane is kept") }
    }
}
