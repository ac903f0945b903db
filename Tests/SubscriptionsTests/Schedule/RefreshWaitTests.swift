import Primitives
import Testing

@testable import Subscriptions

/// Waits that must not stop the other work of a subscription.
@Suite("Refreshes that wait")
struct RefreshWaitTests {
    private static let urls = RefreshSimulation.urls(5)
    private static let interval = RefreshInterval.fixed(.seconds(3600))

    private static func simulation(_ interval: RefreshInterval = interval) -> RefreshSimulation {
        var simulation = RefreshSimulation(urls, RefreshMachine.Rules(name: "news", interval: interval))
        simulation.run(for: .seconds(100))
        for url in urls { simulation.answers[url] = .version(2) }
        simulation.forgetRequests()
        return simulation
    }

    @Test("While the source's host wants a pause, all members are refreshed, and the source is asked after the pause")
    func pausedSource() {
        var simulation = Self.simulation()
        simulation.sourcePauseEnd = simulation.now + .seconds(86_000)
        simulation.run(for: .seconds(7200))
        #expect(simulation.sourceDates.isEmpty && simulation.held.values.allSatisfy { $0 == 2 })
        simulation.run(for: .seconds(78_000))
        #expect(simulation.requests.count > 100)
        simulation.forgetRequests()
        simulation.sourcePauseEnd = nil
        simulation.run(for: .seconds(3600))
        #expect(simulation.sourceDates.count == 1)
    }

    @Test("A refresh that a caller requests asks for the members at once, although the source's host wants a pause")
    func requestedInPause() {
        var simulation = Self.simulation()
        simulation.sourcePauseEnd = simulation.now + .seconds(86_000)
        simulation.requestRefresh()
        simulation.run(for: .seconds(10))
        #expect(simulation.sourceDates.isEmpty && simulation.requests.count == 5)
        #expect(simulation.held.values.allSatisfy { $0 == 2 })
    }

    @Test("A max-age of the members and of the source does not lengthen a fixed interval")
    func fixedInterval() {
        var simulation = Self.simulation()
        for url in Self.urls { simulation.answers[url] = .answer(.confirmed(least: .seconds(31_536_000))) }
        simulation.source = .items(RefreshSimulation.items(Self.urls), least: .seconds(31_536_000))
        simulation.run(for: .seconds(36_000))
        #expect((9...10).contains(simulation.sourceDates.count) && simulation.requests.count >= 45)
    }

    @Test("A max-age of a year lengthens an adaptive interval to a day and no longer")
    func adaptiveInterval() {
        var simulation = Self.simulation(.adaptive(min: .seconds(60), max: .seconds(600)))
        for url in Self.urls { simulation.answers[url] = .answer(.confirmed(least: .seconds(31_536_000))) }
        simulation.source = .items(RefreshSimulation.items(Self.urls), least: .seconds(31_536_000))
        simulation.run(for: .seconds(1000))
        simulation.forgetRequests()
        simulation.run(for: .seconds(86_400))
        #expect(simulation.sourceDates.count == 1 && simulation.requests.count == 5)
    }

    @Test("A max-age with a list that is not taken does not delay the next request for the source")
    func refusedList() {
        var simulation = Self.simulation()
        simulation.source = .items(RefreshSimulation.items([Self.urls[0]]), least: .seconds(31_536_000))
        simulation.run(for: .seconds(36_000))
        #expect((9...10).contains(simulation.sourceDates.count))
    }

    @Test("A request that takes for ever delays the switch of the others by maxDelay after half an hour")
    func slowRequest() {
        var simulation = RefreshSimulation(
            RefreshSimulation.urls(6, hosts: 2), RefreshMachine.Rules(name: "news", interval: Self.interval))
        simulation.run(for: .seconds(100))
        for url in RefreshSimulation.urls(6, hosts: 2) { simulation.answers[url] = .version(2) }
        simulation.requestTimes["h1.example"] = .seconds(1_000_000)
        simulation.forgetRequests()
        simulation.requestRefresh()
        simulation.run(for: .seconds(2090))
        #expect(simulation.switches.isEmpty)
        simulation.run(for: .seconds(20))
        #expect(simulation.switches.map(\.ends) == [true])
        #expect(simulation.held.values.count { $0 == 2 } == 3 && simulation.held.count == 6)
        #expect(simulation.problem("http://h1.example/1")?.reason.contains("30 minutes") == true)
        #expect(simulation.machine.members.values.allSatisfy { $0.step == .resting && $0.asked == nil })
    }

    @Test("A request that takes long and then ends within maxDelay is part of the switch")
    func longRequest() {
        var simulation = Self.simulation()
        simulation.requestTimes["h0.example"] = .seconds(1900)
        simulation.limits = PacingLimits(concurrency: 5)
        simulation.requestRefresh()
        simulation.run(for: .seconds(1850))
        #expect(simulation.switches.isEmpty)
        simulation.run(for: .seconds(100))
        #expect(simulation.switches.map(\.ends) == [true] && simulation.held.values.allSatisfy { $0 == 2 })
        #expect(simulation.machine.members.values.allSatisfy { $0.problem == nil })
    }

    @Test("A member that keeps its old copy at a switch stays in the next generations")
    func outdatedMember() {
        var simulation = Self.simulation()
        let key = RefreshSimulation.key(Self.urls[0])
        simulation.lost = [key: MemberLoss("the new body was damaged", keepsCopy: true)]
        simulation.requestRefresh()
        simulation.run(for: .seconds(100))
        #expect(simulation.version(Self.urls[0]) == 1 && simulation.machine.members[key]?.hasCopy == true)
        #expect(simulation.problem(Self.urls[0])?.reason == "the new body was damaged")
        simulation.lost = [:]
        simulation.answers[Self.urls[0]] = .answer(.failed(reason: "503", pause: nil))
        simulation.requestRefresh()
        simulation.run(for: .seconds(400))
        #expect(simulation.switches.last?.held == 5 && simulation.version(Self.urls[0]) == 1)
    }
}
