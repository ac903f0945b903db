import Primitives
import Testing

@testable import Subscriptions

@Suite("Hosts that want a pause or do not answer")
struct RefreshHostTests {
    private static func simulation(_ count: Int, interval: Duration = .seconds(86_400)) -> RefreshSimulation {
        let rules = RefreshMachine.Rules(name: "news", interval: .fixed(interval))
        return RefreshSimulation(RefreshSimulation.urls(count, hosts: 2), rules)
    }

    private static func urls(of host: Int, _ count: Int) -> [String] {
        RefreshSimulation.urls(count, hosts: 2).filter { $0.contains("h\(host).") }
    }

    @Test(
        "A host that wants a pause of an hour delays the switch of other hosts by maxDelay, and is asked after the pause"
    )
    func pausedHost() {
        var simulation = Self.simulation(40)
        simulation.run(for: .seconds(1000))
        for url in RefreshSimulation.urls(40, hosts: 2) { simulation.answers[url] = .version(2) }
        for url in Self.urls(of: 1, 40) {
            simulation.answers[url] = .answer(.failed(reason: "429", pause: .seconds(3600)))
        }
        simulation.forgetRequests()
        simulation.requestRefresh()
        simulation.run(for: .seconds(325))
        #expect(simulation.switches.map(\.ends) == [true] && simulation.held.count == 40)
        #expect(Self.urls(of: 0, 40).allSatisfy { simulation.version($0) == 2 })
        #expect(Self.urls(of: 1, 40).allSatisfy { simulation.version($0) == 1 })
        for url in Self.urls(of: 1, 40) { simulation.answers[url] = .version(2) }
        simulation.run(for: .seconds(3200))
        #expect(simulation.requests.count { $0.url.contains("h1.") } == 1)
        simulation.run(for: .seconds(200))
        #expect(Self.urls(of: 1, 40).allSatisfy { simulation.version($0) == 2 })
    }

    @Test("A host that answers again within maxDelay is part of the same switch, with all its members")
    func shortPause() {
        var simulation = Self.simulation(400)
        simulation.run(for: .seconds(1000))
        for url in RefreshSimulation.urls(400, hosts: 2) { simulation.answers[url] = .version(2) }
        let first = Self.urls(of: 1, 400)[0]
        simulation.answers[first] = .answer(.failed(reason: "503", pause: .seconds(250)))
        simulation.forgetRequests()
        simulation.requestRefresh()
        simulation.run(for: .seconds(240))
        simulation.answers[first] = .version(2)
        simulation.run(for: .seconds(300))
        #expect(simulation.switches.count == 1 && simulation.held.values.allSatisfy { $0 == 2 })
    }

    @Test("New members of a host that wants a pause do not hold back new members of other hosts")
    func newMembers() {
        var simulation = Self.simulation(2)
        simulation.run(for: .seconds(86_395))
        let new = ["http://h0.example/new", "http://h1.example/new", "http://h1.example/newer"]
        simulation.source = .items(
            RefreshSimulation.items(RefreshSimulation.urls(2, hosts: 2) + new), least: .zero)
        for url in new[1...] { simulation.answers[url] = .answer(.failed(reason: "429", pause: .seconds(3600))) }
        simulation.run(for: .seconds(15))
        #expect(simulation.version(new[0]) == 1 && simulation.version(new[1]) == nil)
    }

    @Test("A host that is down delays the switch of other hosts by a few requests and maxDelay, not by all its members")
    func hostDown() {
        var simulation = Self.simulation(200)
        simulation.run(for: .seconds(1000))
        for url in RefreshSimulation.urls(200, hosts: 2) { simulation.answers[url] = .version(2) }
        for url in Self.urls(of: 1, 200) {
            simulation.answers[url] = .answer(.failed(reason: "no answer", pause: nil))
        }
        simulation.requestTimes["h1.example"] = .seconds(30)
        simulation.forgetRequests()
        simulation.requestRefresh()
        simulation.run(for: .seconds(450))
        #expect(simulation.switches.count == 1 && Self.urls(of: 0, 200).allSatisfy { simulation.version($0) == 2 })
        for url in Self.urls(of: 1, 200) { simulation.answers[url] = .version(2) }
        simulation.requestTimes = [:]
        simulation.run(for: .seconds(1200))
        #expect(simulation.held.values.allSatisfy { $0 == 2 } && simulation.held.count == 200)
    }

    @Test("A pause survives a restart")
    func restart() throws {
        let item = RefreshSimulation.items(["http://a.example/1"])[0]
        let start = Timestamp(seconds: 1_800_000_000)
        var state = RefreshMachine.State(
            members: [RefreshMachine.Member(item: item, hasCopy: true, due: start)], sourceDue: start, date: start)
        state.pauses = ["a.example": start + .seconds(3600)]
        let rules = RefreshMachine.Rules(name: "news", interval: .fixed(.seconds(86_400)))
        var machine = RefreshMachine(rules, state, at: start)
        #expect(machine.state.pauses == state.pauses)
        machine.beginSource()
        _ = machine.handle(.sourceAnswered(.unchanged(least: .zero)), at: start)
        #expect(machine.nextTurn()?.date ?? .distantFuture >= start + .seconds(3600))
        _ = machine.handle(.hostPaused(host: "a.example", until: start + .seconds(60)), at: start)
        _ = machine.handle(.hostPaused(host: "a.example", until: start - .seconds(60)), at: start)
        _ = machine.handle(.hostPaused(host: "b.example", until: start), at: start)
        #expect(machine.state.pauses == state.pauses)
        _ = machine.handle(.hostPaused(host: "a.example", until: start + .seconds(1_000_000)), at: start)
        #expect(machine.state.pauses == ["a.example": start + .seconds(86_400)])
    }
}
