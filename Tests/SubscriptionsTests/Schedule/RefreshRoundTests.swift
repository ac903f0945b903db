import Primitives
import Testing

@testable import Subscriptions

/// Rounds that begin without an answer of the source.
@Suite("Rounds between two requests for the source")
struct RefreshRoundTests {
    private static let urls = RefreshSimulation.urls(5)

    private static func rules(_ interval: RefreshInterval) -> RefreshMachine.Rules {
        RefreshMachine.Rules(name: "news", interval: interval)
    }

    @Test("An adaptive member that changes every minute is asked for every minute under a source that never changes")
    func adaptiveMember() {
        let interval = RefreshInterval.adaptive(min: .seconds(60), max: .seconds(86_400))
        var simulation = RefreshSimulation(Self.urls, Self.rules(interval))
        simulation.source = .items(RefreshSimulation.items(Self.urls), least: .seconds(86_400))
        simulation.changes = [Self.urls[0]]
        simulation.run(for: .seconds(20_000))
        simulation.forgetRequests()
        simulation.run(for: .seconds(6000))
        let requests = simulation.requests.filter { $0.url == Self.urls[0] }
        #expect((90...100).contains(requests.count) && simulation.sourceDates.isEmpty)
        // The others grow apart from it.
        #expect(simulation.requests.count < 110)
        let age = simulation.now - (simulation.switches.last?.date ?? simulation.now)
        #expect(age <= .seconds(70))
    }

    @Test(
        "With a fixed interval, members are asked for once an interval under a source that wants no request for a day")
    func slowSource() {
        var simulation = RefreshSimulation(Self.urls, Self.rules(.fixed(.seconds(3600))))
        simulation.run(for: .seconds(10))
        simulation.source = .failed(reason: "429", pause: .seconds(86_400))
        simulation.run(for: .seconds(3600))
        simulation.forgetRequests()
        simulation.run(for: .seconds(86_000))
        #expect(simulation.sourceDates.isEmpty)
        #expect((115...120).contains(simulation.requests.count) && (23...24).contains(simulation.switches.count))
    }

    @Test("A slow source that becomes due within an interval asks only for new members")
    func sourceWithinInterval() {
        var simulation = RefreshSimulation(Self.urls, Self.rules(.fixed(.seconds(3600))))
        simulation.run(for: .seconds(10))
        simulation.source = .failed(reason: "503", pause: .seconds(5000))
        simulation.run(for: .seconds(3600))
        simulation.forgetRequests()
        simulation.source = .items(RefreshSimulation.items(Self.urls + ["http://h0.example/new"]), least: .zero)
        simulation.run(for: .seconds(36_000))
        let counts = Dictionary(grouping: simulation.requests, by: \.url).mapValues(\.count)
        #expect(Self.urls.allSatisfy { (9...10).contains(counts[$0] ?? 0) })
        #expect(simulation.version("http://h0.example/new") == 1)
    }

    @Test("A failed switch and a lack of room are not repeated before the shortest interval has passed")
    func noTightLoop() {
        let interval = RefreshInterval.adaptive(min: .seconds(60), max: .seconds(600))
        for hasRoom in [true, false] {
            var simulation = RefreshSimulation(Self.urls, Self.rules(interval))
            simulation.run(for: .seconds(10))
            for url in Self.urls { simulation.answers[url] = .version(2) }
            (simulation.hasRoom, simulation.failsToSwitch) = (hasRoom, hasRoom)
            simulation.forgetRequests()
            simulation.run(for: .seconds(6000))
            #expect(simulation.requests.count <= 505 && simulation.failedSwitches <= 101)
            (simulation.hasRoom, simulation.failsToSwitch) = (true, false)
            simulation.run(for: .seconds(hasRoom ? 70 : 970))
            #expect(simulation.held.values.allSatisfy { $0 == 2 })
        }
    }

    @Test("A member that the switch lost is asked for again after the shortest interval")
    func lost() {
        let interval = RefreshInterval.adaptive(min: .seconds(60), max: .seconds(86_400))
        var simulation = RefreshSimulation(Self.urls, Self.rules(interval))
        simulation.run(for: .seconds(40_000))
        simulation.lost = [RefreshSimulation.key(Self.urls[0]): MemberLoss("removed")]
        simulation.requestRefresh()
        simulation.run(for: .seconds(20))
        simulation.lost = [:]
        #expect(simulation.held.count == 4)
        simulation.run(for: .seconds(70))
        #expect(simulation.held.count == 5)
    }

    @Test("A member that was evicted before the switch is asked for again at once, but only one time in a row")
    func evicted() {
        for isEvictedAgain in [false, true] {
            var simulation = RefreshSimulation(Self.urls, Self.rules(.fixed(.seconds(3600))))
            simulation.lost = [RefreshSimulation.key(Self.urls[0]): MemberLoss("evicted", isPassing: true)]
            while simulation.switches.isEmpty { simulation.run(for: .milliseconds(10)) }
            #expect(simulation.held.count == 4)
            if !isEvictedAgain { simulation.lost = [:] }
            simulation.run(for: .seconds(3000))
            #expect(simulation.requests.count { $0.url == Self.urls[0] } == 2)
            #expect(simulation.held.count == (isEvictedAgain ? 4 : 5))
            simulation.lost = [:]
            simulation.run(for: .seconds(4300))
            #expect(simulation.held.count == 5 && simulation.problem(Self.urls[0]) == nil)
        }
    }

    @Test("A new member that was evicted before it joined is asked for again in the same round")
    func evictedNewcomer() {
        var simulation = RefreshSimulation(Self.urls, Self.rules(.fixed(.seconds(86_400))))
        simulation.source = .items(RefreshSimulation.items(Array(Self.urls.dropLast())), least: .zero)
        simulation.run(for: .seconds(86_300))
        simulation.source = .items(RefreshSimulation.items(Self.urls), least: .zero)
        simulation.lost = [RefreshSimulation.key(Self.urls[4]): MemberLoss("evicted", isPassing: true)]
        simulation.forgetRequests()
        while simulation.switches.isEmpty { simulation.run(for: .milliseconds(10)) }
        #expect(simulation.held.count == 4)
        simulation.lost = [:]
        simulation.run(for: .seconds(10))
        #expect(simulation.held.count == 5 && simulation.machine.round != nil)
        #expect(simulation.requests.count { $0.url == Self.urls[4] } == 2)
    }

    @Test("A member with a damaged new body keeps its old copy in the switches that follow")
    func damaged() {
        var simulation = RefreshSimulation(Self.urls, Self.rules(.fixed(.seconds(3600))))
        simulation.run(for: .seconds(10))
        for url in Self.urls { simulation.answers[url] = .version(2) }
        simulation.lost = [RefreshSimulation.key(Self.urls[0]): MemberLoss("damaged", keepsCopy: true, isPassing: true)]
        simulation.forgetRequests()
        simulation.requestRefresh()
        while simulation.switches.isEmpty { simulation.run(for: .milliseconds(10)) }
        simulation.lost = [:]
        simulation.answers[Self.urls[0]] = .answer(.failed(reason: "503", pause: nil))
        for url in Self.urls.dropFirst() { simulation.answers[url] = .version(3) }
        simulation.run(for: .seconds(8000))
        #expect(Self.urls.map(simulation.version) == [1, 3, 3, 3, 3])
        #expect(simulation.machine.missing.isEmpty)
    }

    @Test("A round that a kill interrupts goes on after the restart, also under a source that is not due")
    func interruptedRound() {
        var simulation = RefreshSimulation(Self.urls, Self.rules(.fixed(.seconds(86_400))))
        simulation.run(for: .seconds(10))
        simulation.source = .failed(reason: "503", pause: .seconds(86_400))
        simulation.run(for: .seconds(86_380))
        for url in Self.urls { simulation.answers[url] = .version(2) }
        simulation.run(for: .seconds(43_200))
        simulation.restart(after: .seconds(1))
        simulation.run(for: .seconds(43_300))
        #expect(simulation.held.values.allSatisfy { $0 == 2 } && simulation.held.count == 5)
    }

    @Test("A member that the source drops and lists again before a switch removes it keeps its copy")
    func droppedAndListed() {
        var simulation = RefreshSimulation(Self.urls, Self.rules(.fixed(.seconds(3600))))
        simulation.run(for: .seconds(10))
        simulation.failsToSwitch = true
        simulation.source = .items(RefreshSimulation.items(Array(Self.urls.dropFirst())), least: .zero)
        simulation.run(for: .seconds(3600))
        simulation.restart(after: .seconds(1))
        simulation.answers[Self.urls[0]] = .answer(.failed(reason: "503", pause: nil))
        simulation.source = .items(RefreshSimulation.items(Self.urls), least: .zero)
        simulation.failsToSwitch = false
        simulation.requestRefresh()
        simulation.run(for: .seconds(400))
        #expect(!simulation.switches.isEmpty && simulation.version(Self.urls[0]) == 1)
        #expect(simulation.machine.heldCount == 5)
    }

    @Test("A source that confirms its list, while no member is due, causes no switch")
    func noNews() {
        let interval = RefreshInterval.adaptive(min: .seconds(60), max: .seconds(600))
        var simulation = RefreshSimulation(Self.urls, Self.rules(interval))
        simulation.run(for: .seconds(10))
        for url in Self.urls { simulation.answers[url] = .answer(.confirmed(least: .seconds(50_000))) }
        simulation.run(for: .seconds(1000))
        simulation.forgetRequests()
        simulation.run(for: .seconds(10_000))
        #expect(simulation.sourceDates.count > 10 && simulation.switches.isEmpty && simulation.requests.isEmpty)
    }

    @Test("A 404 before a failed switch removes no copy while the member is asked for again")
    func unfinishedRemoval() {
        var simulation = RefreshSimulation(Self.urls, Self.rules(.fixed(.seconds(3600))))
        simulation.run(for: .seconds(10))
        simulation.failsToSwitch = true
        simulation.answers[Self.urls[0]] = .answer(.gone(reason: "404", forever: false))
        simulation.requestRefresh()
        simulation.run(for: .seconds(20))
        #expect(simulation.problem(Self.urls[0])?.isLasting == true && simulation.held.count == 5)
        simulation.failsToSwitch = false
        simulation.answers = [:]
        simulation.requestTimes["h0.example"] = .seconds(50)
        simulation.source = .items(RefreshSimulation.items(Self.urls + ["http://h9.example/new"]), least: .zero)
        simulation.requestRefresh()
        simulation.run(for: .seconds(5))
        #expect(simulation.switches.last?.ends == false && simulation.version("http://h9.example/new") == 1)
        #expect(simulation.version(Self.urls[0]) == 1)
    }

    @Test("An entry that moves to another address is asked for there")
    func moved() {
        var simulation = RefreshSimulation(Self.urls, Self.rules(.fixed(.seconds(3600))))
        simulation.run(for: .seconds(10))
        let moved = WantedItem(
            url: "https://h9.example/0", key: RefreshSimulation.key(Self.urls[0]), host: "h9.example")
        simulation.source = .items([moved] + RefreshSimulation.items(Array(Self.urls.dropFirst())), least: .zero)
        simulation.forgetRequests()
        simulation.run(for: .seconds(7300))
        #expect(simulation.requests.contains { $0.url == moved.url })
        #expect(!simulation.requests.contains { $0.url == Self.urls[0] })
    }
}
