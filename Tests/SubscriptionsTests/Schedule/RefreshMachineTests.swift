import Primitives
import Testing

@testable import Subscriptions

@Suite("The refreshes of a subscription")
struct RefreshMachineTests {
    private static func rules(_ interval: Duration = .seconds(3600)) -> RefreshMachine.Rules {
        RefreshMachine.Rules(name: "news", interval: .fixed(interval))
    }

    private static let urls = RefreshSimulation.urls(5)

    @Test("The first generation is published as soon as it is whole, with a gap between two requests to a host")
    func first() {
        var simulation = RefreshSimulation(Self.urls, Self.rules())
        simulation.run(for: .seconds(3))
        #expect(simulation.held.isEmpty && simulation.machine.missing.count == 5)
        simulation.run(for: .seconds(2))
        #expect(simulation.held.count == 5 && simulation.switches.count == 1 && simulation.machine.missing.isEmpty)
        #expect(simulation.requests.count == 5 && simulation.shortestGap == .seconds(1))
        #expect(simulation.machine.heldCount == 5)
    }

    @Test("In each interval every member is asked for once, at its own time, and all switch together at the end")
    func rounds() {
        let urls = RefreshSimulation.urls(600, hosts: 3)
        var simulation = RefreshSimulation(urls, Self.rules())
        simulation.run(for: .seconds(3500))
        simulation.forgetRequests()
        for url in urls { simulation.answers[url] = .version(2) }
        simulation.run(for: .seconds(1900))
        // Half of the members have been asked for, and readers have the old generation.
        #expect((200...400).contains(simulation.requests.count))
        #expect(simulation.switches.isEmpty && simulation.held.values.allSatisfy { $0 == 1 })
        simulation.run(for: .seconds(1801))
        #expect(simulation.held.count == 600 && simulation.held.values.allSatisfy { $0 == 2 })
        #expect(simulation.switches.count == 1)
        // The next round has begun with at most one request for each host.
        let requests = simulation.requests.filter { $0.date < simulation.sourceDates[1] }
        #expect(requests.count == 600 && Set(requests.map(\.url)).count == 600 && simulation.busiestSecond == 1)
    }

    @Test("After a day's downtime 6,000 members on 30 hosts are asked for with the gap, and switch once")
    func downtime() {
        let urls = RefreshSimulation.urls(6000, hosts: 30)
        var simulation = RefreshSimulation(urls, Self.rules())
        simulation.run(for: .seconds(250))
        #expect(simulation.held.count == 6000)
        simulation.restart(after: .seconds(86_400))
        simulation.forgetRequests()
        for url in urls { simulation.answers[url] = .version(2) }
        simulation.run(for: .seconds(210))
        #expect(simulation.requests.count == 6000 && simulation.shortestGap >= .seconds(1))
        #expect(simulation.switches.map(\.ends) == [true])
        #expect(simulation.held.count == 6000 && simulation.held.values.allSatisfy { $0 == 2 })
    }

    @Test("New items join before the end of the round, and the others keep their old copies")
    func newcomers() {
        var simulation = RefreshSimulation(Self.urls, Self.rules())
        simulation.run(for: .seconds(3599))
        simulation.source = .items(
            RefreshSimulation.items(["http://h0.example/new"] + Self.urls.dropLast()), least: .zero)
        for url in Self.urls { simulation.answers[url] = .version(2) }
        simulation.forgetRequests()
        simulation.run(for: .seconds(10))
        #expect(simulation.version("http://h0.example/new") == 1)
        #expect(simulation.version(Self.urls[4]) == nil)
        #expect(simulation.switches.map(\.ends) == [false])
        let versions = Set(Self.urls.dropLast().map { simulation.version($0) })
        #expect(versions == [1])
        simulation.run(for: .seconds(3590))
        #expect(Self.urls.dropLast().allSatisfy { simulation.version($0) == 2 })
        #expect(simulation.held.count == 5 && simulation.version("http://h0.example/new") == 1)
    }

    @Test("A source without items, or with far fewer ones, changes no member", arguments: [0, 2])
    func shrinking(_ count: Int) {
        var simulation = RefreshSimulation(Self.urls, Self.rules())
        simulation.run(for: .seconds(3599))
        simulation.source = .items(RefreshSimulation.items(Array(Self.urls.prefix(count))), least: .zero)
        simulation.run(for: .seconds(7200))
        #expect(simulation.held.count == 5)
        let problem = simulation.machine.sourceProblem
        #expect(problem?.reason.contains(count == 0 ? "no items" : "2 items instead of 5; allowShrink") == true)
        #expect(problem?.since == simulation.sourceDates[1])
        simulation.source = .failed(reason: "HTML", pause: nil)
        simulation.run(for: .seconds(3600))
        #expect(simulation.held.count == 5 && simulation.machine.sourceProblem?.reason == "HTML")
        simulation.source = .items(RefreshSimulation.items(Array(Self.urls.prefix(3))), least: .zero)
        simulation.run(for: .seconds(7200))
        #expect(simulation.held.count == 3 && simulation.machine.sourceProblem == nil)
    }

    @Test("A list that may shrink takes over fewer items")
    func allowedShrinking() {
        var rules = Self.rules()
        rules.allowsShrink = true
        var simulation = RefreshSimulation(Self.urls, rules)
        simulation.run(for: .seconds(3599))
        simulation.source = .items(RefreshSimulation.items([Self.urls[0]]), least: .zero)
        simulation.run(for: .seconds(3600))
        #expect(simulation.held.count == 1)
    }

    @Test("A failure that may pass delays the switch, at most for maxDelay, and then the old copy stays")
    func transientFailure() {
        var simulation = RefreshSimulation(Self.urls, Self.rules())
        simulation.run(for: .seconds(3599))
        for url in Self.urls { simulation.answers[url] = .version(2) }
        simulation.answers[Self.urls[2]] = .answer(.failed(reason: "503", pause: nil))
        simulation.forgetRequests()
        simulation.requestRefresh()
        simulation.run(for: .seconds(200))
        #expect(simulation.switches.isEmpty && simulation.requests.count > 8)
        simulation.run(for: .seconds(120))
        #expect(simulation.switches.count == 1 && simulation.held.count == 5)
        #expect(simulation.version(Self.urls[2]) == 1 && simulation.version(Self.urls[1]) == 2)
        #expect(simulation.problem(Self.urls[2])?.reason == "503")
        simulation.answers[Self.urls[2]] = .version(2)
        simulation.run(for: .seconds(7200))
        #expect(simulation.version(Self.urls[2]) == 2 && simulation.problem(Self.urls[2]) == nil)
    }

    @Test("When the origin is away for a week, no member is lost")
    func week() {
        var simulation = RefreshSimulation(Self.urls, Self.rules())
        simulation.run(for: .seconds(10))
        for url in Self.urls { simulation.answers[url] = .answer(.failed(reason: "no route", pause: nil)) }
        simulation.source = .failed(reason: "no route", pause: nil)
        simulation.run(for: .seconds(7 * 86_400))
        #expect(Self.urls.allSatisfy { simulation.version($0) == 1 })
        #expect(simulation.machine.sourceProblem?.since == simulation.sourceDates[1])
    }

    @Test("A member with a lasting failure leaves with its reason, and comes back when the origin has it again")
    func lastingFailures() {
        var simulation = RefreshSimulation(Self.urls, Self.rules())
        simulation.answers[Self.urls[0]] = .answer(.gone(reason: "404", forever: false))
        simulation.answers[Self.urls[1]] = .answer(.gone(reason: "410", forever: true))
        simulation.answers[Self.urls[2]] = .answer(.forbidden(reason: "403"))
        simulation.run(for: .seconds(10))
        #expect(simulation.held.count == 2)
        #expect(simulation.machine.missing.map(\.problem?.reason) == ["404", "410", "403"])
        for url in Self.urls { simulation.answers[url] = .version(2) }
        simulation.forgetRequests()
        simulation.run(for: .seconds(7200))
        #expect(simulation.version(Self.urls[0]) == 2 && simulation.problem(Self.urls[0]) == nil)
        #expect(simulation.version(Self.urls[1]) == nil)
        #expect(!simulation.requests.contains { $0.url == Self.urls[1] })
        simulation.answers[Self.urls[3]] = .answer(.gone(reason: "404", forever: false))
        simulation.run(for: .seconds(7200))
        #expect(simulation.version(Self.urls[3]) == nil)
    }

    @Test("A refusal keeps the old copy and waits a day for the next request")
    func refusal() {
        var simulation = RefreshSimulation(Self.urls, Self.rules())
        simulation.run(for: .seconds(10))
        simulation.answers[Self.urls[0]] = .answer(.forbidden(reason: "401"))
        simulation.run(for: .seconds(7200))
        simulation.forgetRequests()
        simulation.run(for: .seconds(70_000))
        #expect(!simulation.requests.contains { $0.url == Self.urls[0] })
        #expect(simulation.version(Self.urls[0]) == 1 && simulation.problem(Self.urls[0])?.reason == "401")
        simulation.run(for: .seconds(30_000))
        #expect(simulation.requests.contains { $0.url == Self.urls[0] })
    }

    @Test("Without room for both generations the old one stays, and the next round tries again")
    func noRoom() {
        var simulation = RefreshSimulation(Self.urls, Self.rules())
        simulation.run(for: .seconds(10))
        simulation.hasRoom = false
        for url in Self.urls { simulation.answers[url] = .version(2) }
        simulation.run(for: .seconds(7300))
        #expect(simulation.held.values.allSatisfy { $0 == 1 } && simulation.dropCount == 1)
        #expect(simulation.machine.noRoomSince != nil)
        simulation.hasRoom = true
        simulation.run(for: .seconds(7200))
        #expect(simulation.held.values.allSatisfy { $0 == 2 } && simulation.machine.noRoomSince == nil)
    }

    @Test("A failed switch is not repeated before the end of the round")
    func failedSwitch() {
        var simulation = RefreshSimulation(Self.urls, Self.rules())
        simulation.run(for: .seconds(10))
        simulation.failsToSwitch = true
        simulation.source = .items(
            RefreshSimulation.items(["http://h0.example/new"] + Self.urls), least: .zero)
        simulation.run(for: .seconds(7000))
        // For the new member, and at the end of the round; then for the new member in the next round.
        #expect(simulation.failedSwitches == 2)
        simulation.run(for: .seconds(300))
        #expect(simulation.failedSwitches == 3 && simulation.held.count == 5)
        simulation.failsToSwitch = false
        simulation.run(for: .seconds(3600))
        #expect(simulation.held.count == 6)
    }

    @Test("A member that answers after the end of its round is asked for again in the next round")
    func lateAnswer() {
        var simulation = RefreshSimulation(Self.urls, Self.rules())
        simulation.run(for: .seconds(10))
        simulation.answers[Self.urls[0]] = .answer(.failed(reason: "503", pause: nil))
        simulation.requestRefresh()
        simulation.run(for: .seconds(5))
        simulation.requestTime = .seconds(400)
        simulation.run(for: .seconds(600))
        #expect(simulation.switches.count == 2)
        simulation.requestTime = .milliseconds(100)
        simulation.answers[Self.urls[0]] = .version(2)
        simulation.run(for: .seconds(7200))
        #expect(simulation.version(Self.urls[0]) == 2 && simulation.problem(Self.urls[0]) == nil)
    }

    @Test("A refresh that is requested while the source is asked for makes the round urgent")
    func requestedWhileAsking() {
        var machine = RefreshSimulation(Self.urls, Self.rules())
        machine.run(for: .seconds(10))
        var tested = machine.machine
        let now = machine.now + .seconds(3600)
        tested.beginSource()
        _ = tested.handle(.refreshRequested, at: now)
        _ = tested.handle(.sourceAnswered(.unchanged(least: .zero)), at: now)
        #expect(tested.nextTurn()?.date == now)
    }

    @Test("A requested refresh asks for all members at once; a request during a round adds a round")
    func requested() {
        var simulation = RefreshSimulation(Self.urls, Self.rules())
        simulation.run(for: .seconds(100))
        simulation.forgetRequests()
        simulation.requestRefresh()
        simulation.run(for: .seconds(2))
        simulation.requestRefresh()
        simulation.run(for: .seconds(10))
        #expect(simulation.sourceDates.count == 2 && simulation.requests.count == 10)
        #expect(simulation.switches.map(\.ends) == [true, true])
    }

    @Test("A kill during a round loses no copy, and the round begins again")
    func killed() {
        var simulation = RefreshSimulation(Self.urls, Self.rules())
        simulation.run(for: .seconds(10))
        for url in Self.urls { simulation.answers[url] = .version(2) }
        simulation.run(for: .seconds(5400))
        simulation.restart(after: .seconds(1))
        #expect(simulation.held.values.allSatisfy { $0 == 1 })
        simulation.run(for: .seconds(7200))
        #expect(simulation.held.values.allSatisfy { $0 == 2 } && simulation.held.count == 5)
    }

    @Test("A member that the switch lost is downloaded again in the next round")
    func lost() {
        var simulation = RefreshSimulation(Self.urls, Self.rules())
        let key = RefreshSimulation.key(Self.urls[0])
        simulation.lost = [key: MemberLoss("removed")]
        simulation.run(for: .seconds(10))
        #expect(simulation.held.count == 4 && simulation.problem(Self.urls[0])?.reason.contains("removed") == true)
        simulation.lost = [:]
        simulation.run(for: .seconds(3600))
        #expect(simulation.held.count == 5 && simulation.problem(Self.urls[0]) == nil)
    }

    @Test("Adaptive members that do not change are asked for less and less often")
    func adaptive() {
        var rules = Self.rules()
        rules.interval = .adaptive(min: .seconds(600), max: .seconds(6000))
        var simulation = RefreshSimulation(Self.urls, rules)
        simulation.run(for: .seconds(20_000))
        simulation.forgetRequests()
        simulation.run(for: .seconds(60_000))
        // Ten requests for each member, instead of a hundred.
        #expect((40...75).contains(simulation.requests.count))
    }

    @Test("Scheduled refreshes wait for the end of the quiet hours; a requested one does not")
    func quietHours() {
        var rules = Self.rules()
        // The simulation begins at 08:00.
        rules.quietHours = QuietHours("08:30-12:00")
        var simulation = RefreshSimulation(Self.urls, rules)
        simulation.run(for: .seconds(3 * 3600))
        #expect(simulation.sourceDates.count == 1)
        simulation.requestRefresh()
        simulation.run(for: .seconds(60))
        #expect(simulation.sourceDates.count == 2)
        simulation.run(for: .seconds(3600))
        #expect(simulation.sourceDates.count == 3)
    }
}
