import Primitives
import Testing

@testable import Subscriptions

@Suite("A clock that goes back")
struct RefreshClockTests {
    private static let urls = RefreshSimulation.urls(5)

    private static func simulation(_ interval: RefreshInterval = .fixed(.seconds(3600))) -> RefreshSimulation {
        RefreshSimulation(urls, RefreshMachine.Rules(name: "news", interval: interval))
    }

    @Test("By a day: source and members are asked for within their intervals", arguments: [100, 4000])
    func rounds(_ time: Int) {
        var simulation = Self.simulation()
        simulation.run(for: .seconds(time))
        for url in Self.urls { simulation.answers[url] = .version(2) }
        simulation.turnClockBack(.seconds(86_400))
        simulation.forgetRequests()
        simulation.run(for: .seconds(7200))
        #expect(simulation.sourceDates.count == 2 && simulation.held.values.allSatisfy { $0 == 2 })
    }

    @Test("By a day: an adaptive member is asked for within its interval")
    func adaptive() {
        var simulation = Self.simulation(.adaptive(min: .seconds(600), max: .seconds(7200)))
        simulation.run(for: .seconds(50_000))
        simulation.turnClockBack(.seconds(86_400))
        simulation.forgetRequests()
        simulation.run(for: .seconds(7800))
        #expect(Set(simulation.requests.map(\.url)).count == 5)
    }

    @Test("By a day: failures delay the switch by maxDelay and no longer")
    func delay() {
        var simulation = Self.simulation()
        simulation.run(for: .seconds(100))
        for url in Self.urls { simulation.answers[url] = .version(2) }
        simulation.answers[Self.urls[0]] = .answer(.failed(reason: "503", pause: nil))
        simulation.requestRefresh()
        simulation.run(for: .seconds(200))
        simulation.turnClockBack(.seconds(86_400))
        simulation.forgetRequests()
        simulation.run(for: .seconds(110))
        #expect(simulation.switches.count == 1 && !simulation.requests.isEmpty)
    }

    @Test("By a day: the origin's wish for no request is kept and does not become longer")
    func wish() {
        var simulation = Self.simulation(.adaptive(min: .seconds(3600), max: .seconds(3600)))
        simulation.run(for: .seconds(100))
        simulation.answers[Self.urls[0]] = .answer(.confirmed(least: .seconds(9000)))
        simulation.requestRefresh()
        simulation.run(for: .seconds(100))
        simulation.turnClockBack(.seconds(86_400))
        simulation.forgetRequests()
        simulation.run(for: .seconds(8800))
        #expect(!simulation.requests.contains { $0.url == Self.urls[0] })
        simulation.run(for: .seconds(3600))
        #expect(simulation.requests.contains { $0.url == Self.urls[0] })
    }

    @Test("By a day: a host's pause is kept and does not become longer")
    func pause() {
        var simulation = Self.simulation()
        simulation.run(for: .seconds(100))
        for url in Self.urls { simulation.answers[url] = .answer(.failed(reason: "429", pause: .seconds(1200))) }
        simulation.requestRefresh()
        simulation.run(for: .seconds(10))
        for url in Self.urls { simulation.answers[url] = .version(2) }
        simulation.turnClockBack(.seconds(86_400))
        simulation.forgetRequests()
        simulation.run(for: .seconds(1180))
        #expect(simulation.requests.isEmpty)
        simulation.run(for: .seconds(30))
        #expect(simulation.requests.count == 5 && simulation.held.values.allSatisfy { $0 == 2 })
    }

    @Test("By a day while the process is down: the next process keeps the intervals")
    func restart() {
        var simulation = Self.simulation()
        simulation.run(for: .seconds(1000))
        for url in Self.urls { simulation.answers[url] = .version(2) }
        simulation.restart(after: .seconds(-86_400))
        simulation.forgetRequests()
        simulation.run(for: .seconds(7200))
        #expect(simulation.sourceDates.count >= 1 && simulation.held.values.allSatisfy { $0 == 2 })
    }

    @Test("A definition with a shorter interval brings the dates of the longer one nearer")
    func shorterInterval() {
        var simulation = Self.simulation(.fixed(.seconds(86_400)))
        simulation.run(for: .seconds(1000))
        let rules = RefreshMachine.Rules(name: "news", interval: .fixed(.seconds(600)))
        simulation.machine = RefreshMachine(rules, simulation.machine.state, at: simulation.now)
        simulation.forgetRequests()
        simulation.run(for: .seconds(1210))
        #expect(simulation.sourceDates.count == 2 && Set(simulation.requests.map(\.url)).count == 5)
    }

    @Test("A step of less than a second, as between two threads, moves no date")
    func smallStep() {
        let start = Timestamp(seconds: 1_800_000_000)
        var watch = ClockWatch(start)
        #expect(watch.observe(start - .milliseconds(900)) == .zero && watch.latest == start)
        #expect(watch.observe(start + .seconds(1)) == .zero && watch.latest == start + .seconds(1))
        #expect(watch.observe(start - .seconds(1)) == .seconds(-2) && watch.latest == start - .seconds(1))
    }
}
