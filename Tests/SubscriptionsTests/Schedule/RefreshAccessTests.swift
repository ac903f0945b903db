import Primitives
import Testing

@testable import Subscriptions

@Suite("Subscriptions without the secret of their requests")
struct RefreshAccessTests {
    private static let urls = RefreshSimulation.urls(40, hosts: 2)

    /// A set with copies.
    private static func simulation(_ interval: RefreshInterval = .fixed(.seconds(3600))) -> RefreshSimulation {
        var simulation = RefreshSimulation(urls, RefreshMachine.Rules(name: "news", interval: interval))
        simulation.run(for: .seconds(600))
        simulation.forgetRequests()
        return simulation
    }

    @Test(
        "Without the secret no request begins and no copy goes for days, and the next round begins with the secret",
        arguments: [RefreshInterval.fixed(.seconds(3600)), .adaptive(min: .seconds(60), max: .seconds(7200))])
    func missing(interval: RefreshInterval) {
        var simulation = Self.simulation(interval)
        for url in Self.urls { simulation.answers[url] = .version(2) }
        simulation.hasSecret = false
        let start = simulation.now
        simulation.run(for: .seconds(3 * 86_400))
        #expect(simulation.requests.isEmpty && simulation.sourceDates.isEmpty)
        // A round that had begun without a request may end with a switch of its own.
        #expect(simulation.held.count == 40 && simulation.switches.count <= 1)
        #expect(simulation.machine.sourceProblem == nil)
        let problem = simulation.machine.problem
        #expect(problem?.reason == "no secret" && problem.map { $0.since - start < .seconds(7200) } == true)
        // Once a minute.
        #expect((4000...4400).contains(simulation.lookCount))
        simulation.hasSecret = true
        simulation.run(for: .seconds(7300))
        #expect(simulation.machine.problem == nil)
        #expect(Self.urls.allSatisfy { simulation.version($0) == 2 })
    }

    @Test("A round that loses the secret ends after maxDelay with the bodies so far, and the next one brings the rest")
    func inRound() {
        var simulation = Self.simulation()
        for url in Self.urls { simulation.answers[url] = .version(2) }
        simulation.requestRefresh()
        simulation.run(for: .seconds(5))
        let asked = Set(simulation.requests.map(\.url))
        #expect((5..<20).contains(asked.count))
        simulation.hasSecret = false
        simulation.run(for: .seconds(299))
        #expect(simulation.switches.isEmpty)
        simulation.run(for: .seconds(10))
        #expect(simulation.switches.map(\.ends) == [true] && simulation.held.count == 40)
        #expect(Self.urls.allSatisfy { simulation.version($0) == (asked.contains($0) ? 2 : 1) })
        simulation.run(for: .seconds(7200))
        #expect(simulation.requests.count == asked.count && simulation.switches.count == 1)
        simulation.hasSecret = true
        simulation.run(for: .seconds(300))
        #expect(Self.urls.allSatisfy { simulation.version($0) == 2 })
    }

    @Test("A secret that comes back within maxDelay lets the round go on, with one switch for all members")
    func shortLoss() {
        var simulation = Self.simulation()
        for url in Self.urls { simulation.answers[url] = .version(2) }
        simulation.requestRefresh()
        simulation.run(for: .seconds(5))
        simulation.hasSecret = false
        simulation.run(for: .seconds(200))
        simulation.hasSecret = true
        simulation.run(for: .seconds(400))
        #expect(simulation.switches.count == 1 && Self.urls.allSatisfy { simulation.version($0) == 2 })
    }

    @Test("After a new secret the members that were refused with 403 do not wait for the rest of the day")
    func forbiddenMembers() {
        var simulation = RefreshSimulation(
            Self.urls, RefreshMachine.Rules(name: "news", interval: .fixed(.seconds(3600))))
        simulation.answers[Self.urls[0]] = .answer(.forbidden(reason: "403"))
        simulation.answers[Self.urls[1]] = .answer(.refused(reason: "400"))
        simulation.run(for: .seconds(600))
        #expect(simulation.problem(Self.urls[0])?.isForbidden == true && simulation.held.count == 38)
        simulation.forgetRequests()
        simulation.answers = [:]
        simulation.run(for: .seconds(600))
        #expect(simulation.requests.isEmpty)
        simulation.changeSecret()
        simulation.run(for: .seconds(10))
        #expect(simulation.requests.map(\.url) == [Self.urls[0]] && simulation.sourceDates.isEmpty)
        #expect(simulation.version(Self.urls[0]) == 1 && simulation.problem(Self.urls[0]) == nil)
        #expect(simulation.problem(Self.urls[1])?.reason == "400")
    }

    @Test("After a new secret a source that was refused with 401 does not wait for the rest of the day")
    func forbiddenSource() {
        var simulation = Self.simulation()
        let list = simulation.source
        simulation.source = .failed(reason: "401", pause: .seconds(86_400))
        simulation.requestRefresh()
        simulation.run(for: .seconds(120))
        #expect(simulation.machine.sourceProblem?.reason == "401")
        simulation.forgetRequests()
        simulation.source = list
        simulation.run(for: .seconds(600))
        #expect(simulation.sourceDates.isEmpty)
        // Neither a pause of the source's host nor the copies give way.
        simulation.sourcePauseEnd = simulation.now + .seconds(60)
        simulation.changeSecret()
        simulation.run(for: .seconds(59))
        #expect(simulation.sourceDates.isEmpty)
        simulation.run(for: .seconds(10))
        #expect(simulation.sourceDates.count == 1 && simulation.machine.sourceProblem == nil)
        #expect(simulation.held.count == 40)
    }

    @Test("A refusal of a request that began with the old secret does not stand, and the next refusal does")
    func forbiddenMeanwhile() {
        let url = Self.urls[0]
        var simulation = RefreshSimulation(
            [url], RefreshMachine.Rules(name: "news", interval: .fixed(.seconds(3600))))
        simulation.run(for: .seconds(600))
        simulation.forgetRequests()
        simulation.answers[url] = .answer(.forbidden(reason: "403"))
        simulation.requestTime = .seconds(5)
        simulation.requestRefresh()
        simulation.run(for: .seconds(1))
        #expect(simulation.requests.count == 1)
        simulation.changeSecret()
        simulation.run(for: .seconds(60))
        #expect(simulation.requests.count == 2 && simulation.machine.round == nil)
        #expect(simulation.version(url) == 1 && simulation.problem(url)?.reason == "403")
        simulation.run(for: .seconds(70_000))
        #expect(simulation.requests.count == 2)
    }

    @Test("A source that refused a request with the old secret is asked once more with the new one")
    func forbiddenSourceMeanwhile() {
        let start = Timestamp(seconds: 1_800_000_000)
        var machine = RefreshMachine(
            RefreshMachine.Rules(name: "news", interval: .fixed(.seconds(3600))), at: start)
        let refusal = SourceAnswer.failed(reason: "401", pause: .seconds(86_400))
        machine.beginSource()
        _ = machine.handle(.secretChanged, at: start)
        _ = machine.handle(.sourceAnswered(refusal), at: start)
        #expect(machine.sourceIsDue(at: start))
        machine.beginSource()
        _ = machine.handle(.sourceAnswered(refusal), at: start)
        #expect(!machine.sourceIsDue(at: start + .seconds(86_399)) && machine.sourceIsDue(at: start + .seconds(86_400)))
    }

    @Test("A requested refresh looks for the secret at once, and a clock that goes back delays no look")
    func looks() {
        let start = Timestamp(seconds: 1_800_000_000)
        var machine = RefreshMachine(
            RefreshMachine.Rules(name: "news", interval: .fixed(.seconds(3600))), at: start)
        #expect(machine.lookDate == nil)
        _ = machine.handle(.accessLost(reason: "no secret", lookDate: start + .seconds(60)), at: start)
        #expect(machine.lookDate == start + .seconds(60) && !machine.sourceIsDue(at: start))
        machine.observe(start - .seconds(86_400))
        #expect(machine.lookDate == start - .seconds(86_340))
        #expect(machine.problem?.since == start - .seconds(86_400))
        let now = start - .seconds(86_390)
        _ = machine.handle(.refreshRequested, at: now)
        #expect(machine.lookDate == now && !machine.sourceIsDue(at: now))
        _ = machine.handle(.accessRegained, at: now)
        #expect(machine.lookDate == nil && machine.problem == nil && machine.sourceIsDue(at: now))
    }

    @Test("A list that is given up without the secret begins no round, and is asked for with the secret at once")
    func inReading() {
        let start = Timestamp(seconds: 1_800_000_000)
        var machine = RefreshMachine(
            RefreshMachine.Rules(name: "news", interval: .fixed(.seconds(3600))), at: start)
        machine.beginSource()
        _ = machine.handle(.accessLost(reason: "no secret", lookDate: start + .seconds(60)), at: start)
        _ = machine.handle(.sourceAnswered(.failed(reason: "no secret", pause: nil)), at: start)
        #expect(machine.round == nil && machine.sourceProblem == nil && machine.nextDate == nil)
        _ = machine.handle(.accessRegained, at: start + .seconds(1))
        #expect(machine.sourceIsDue(at: start + .seconds(1)))
    }
}
