import Primitives
import Testing

@testable import Subscriptions

/// The simulations begin at 08:00.
@Suite("Quiet hours within a round")
struct QuietHoursTests {
    private static func simulation(_ count: Int, _ interval: Duration, _ hours: String) -> RefreshSimulation {
        var rules = RefreshMachine.Rules(name: "news", interval: .fixed(interval))
        rules.quietHours = QuietHours(hours)
        return RefreshSimulation(RefreshSimulation.urls(count), rules)
    }

    /// The requests between two times of the first day.
    private static func requests(_ simulation: RefreshSimulation, _ hours: Range<Double>) -> Int {
        let midnight = Timestamp(seconds: 1_800_000_000 / 86_400 * 86_400)
        return simulation.requests.count { hours.contains(Double(($0.date - midnight).milliseconds) / 3_600_000) }
    }

    @Test("A round that quiet hours interrupt makes no request in them, goes on after them, and switches once")
    func interrupted() {
        var simulation = Self.simulation(40, .seconds(4 * 3600), "13:00-15:00")
        simulation.run(for: .seconds(3600))
        for url in RefreshSimulation.urls(40) { simulation.answers[url] = .version(2) }
        simulation.forgetRequests()
        // The round begins at 12:00.
        simulation.run(for: .seconds(6 * 3600))
        #expect(Self.requests(simulation, 12..<13) > 3 && Self.requests(simulation, 13..<15) == 0)
        #expect(simulation.switches.isEmpty && simulation.held.values.allSatisfy { $0 == 1 })
        simulation.run(for: .seconds(3600))
        #expect(simulation.switches.count == 1 && simulation.held.values.allSatisfy { $0 == 2 })
        #expect(simulation.requests.count == 40)
    }

    @Test("A round that the pacing drags into the quiet hours stops at their beginning, and goes on after them")
    func dragged() {
        var simulation = Self.simulation(100, .seconds(4 * 3600), "13:00-15:00")
        simulation.run(for: .seconds(1000))
        for url in RefreshSimulation.urls(100) { simulation.answers[url] = .version(2) }
        simulation.restart(after: .seconds(5 * 3600 - 1030 + 86_400))
        simulation.forgetRequests()
        simulation.run(for: .seconds(2 * 3600 + 20))
        #expect((29...31).contains(simulation.requests.count) && simulation.switches.isEmpty)
        simulation.run(for: .seconds(120))
        #expect(simulation.requests.count == 100 && simulation.switches.count == 1)
        #expect(simulation.held.values.allSatisfy { $0 == 2 })
    }

    @Test("Failures delay a switch by maxDelay also in the quiet hours, and are not repeated in them")
    func failures() {
        var simulation = Self.simulation(5, .seconds(4 * 3600), "13:00-15:00")
        simulation.run(for: .seconds(1000))
        for url in RefreshSimulation.urls(5) { simulation.answers[url] = .version(2) }
        simulation.answers["http://h0.example/0"] = .answer(.failed(reason: "503", pause: nil))
        simulation.restart(after: .seconds(5 * 3600 - 1010 + 86_400))
        simulation.forgetRequests()
        simulation.run(for: .seconds(400))
        #expect(simulation.switches.count == 1 && simulation.version("http://h0.example/1") == 2)
        let count = simulation.requests.count
        simulation.run(for: .seconds(6500))
        #expect(simulation.requests.count == count)
    }

    @Test("A refresh that a caller requests during the quiet hours asks for the rest of the interrupted round")
    func requested() {
        var simulation = Self.simulation(40, .seconds(4 * 3600), "13:00-15:00")
        simulation.run(for: .seconds(3600))
        simulation.forgetRequests()
        simulation.run(for: .seconds(4 * 3600 + 1800))
        #expect(Self.requests(simulation, 13..<15) == 0)
        simulation.requestRefresh()
        simulation.run(for: .seconds(120))
        #expect(simulation.switches.map(\.ends) == [true, true] && Self.requests(simulation, 13..<15) > 40)
    }

    @Test("A new subscription does not wait for the end of the quiet hours; one that is due in them does")
    func new() {
        var simulation = Self.simulation(5, .seconds(3600), "07:00-10:00")
        simulation.run(for: .seconds(10))
        #expect(simulation.held.count == 5)
        simulation.restart(after: .seconds(3600))
        simulation.forgetRequests()
        simulation.run(for: .seconds(3580))
        #expect(simulation.requests.isEmpty && simulation.sourceDates.isEmpty)
        simulation.run(for: .seconds(3610))
        #expect(simulation.requests.count == 5)
    }
}
