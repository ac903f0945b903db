import TestSupport
import Testing

@testable import Outbox

struct OutboxSimulationTests {
    @Test("No edit is lost, applied twice or overtaken in random histories, and every change ends")
    func randomHistories() {
        var (accepted, effects, merges, conflicts, victories) = (0, 0, 0, 0, 0)
        var (lost, kills, refused, unread, removals, squashes, missed) = (0, 0, 0, 0, 0, 0, 0)
        for seed in Seeds.range(0..<40) {
            let simulation = OutboxSimulation(seed: seed)
            simulation.run(steps: 600)
            #expect(simulation.problems.isEmpty, "seed \(seed)")
            accepted += simulation.accepted
            effects += simulation.effects
            merges += simulation.merges
            conflicts += simulation.conflicts
            victories += simulation.victories
            lost += simulation.lostAnswers
            kills += simulation.kills
            refused += simulation.refusedCredentials
            unread += simulation.unreadCredentials
            removals += simulation.removals
            squashes += simulation.squashes
            missed += simulation.missedNamespaces
        }
        print("\(accepted) changes, \(effects) effects, \(merges) merges, \(conflicts) conflicts")
        print("\(lost) lost answers, \(kills) kills, \(refused) refused credentials, \(removals) removed versions")
        print("\(squashes) squashes, \(missed) requests in a missing namespace")
        // The histories reach the cases that they are made for.
        #expect(accepted > 1000 && effects > 500 && merges > 50 && conflicts > 50 && lost > 30 && kills > 20)
        #expect(refused > 40 && unread > 10 && removals > 20 && victories > 10)
        #expect(squashes > 10 && missed > 20)
    }
}
