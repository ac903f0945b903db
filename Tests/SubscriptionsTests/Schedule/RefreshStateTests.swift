import Primitives
import Testing

@testable import Subscriptions

@Suite("The state of a subscription that survives a restart")
struct RefreshStateTests {
    private static let urls = RefreshSimulation.urls(5)
    private static let start = Timestamp(seconds: 1_800_000_000)

    private static func rules(_ interval: RefreshInterval = .fixed(.seconds(3600))) -> RefreshMachine.Rules {
        RefreshMachine.Rules(name: "news", interval: interval)
    }

    /// A member with a value in each property.
    private static func member(_ url: String) -> RefreshMachine.Member {
        var member = RefreshMachine.Member(
            item: RefreshSimulation.items([url])[0], hasCopy: true, due: start + .seconds(700))
        member.interval = .seconds(650)
        member.failures = 3
        member.problem = MemberProblem(reason: "404", since: start - .seconds(10), isLasting: true)
        member.isStopped = true
        member.earliest = start + .seconds(800)
        return member
    }

    @Test("A state is the same after a restart, in all its parts")
    func roundTrip() {
        var state = RefreshMachine.State(
            members: [Self.member(Self.urls[1]), Self.member(Self.urls[0])], sourceDue: Self.start + .seconds(60),
            date: Self.start - .seconds(20))
        state.sourceEarliest = Self.start + .seconds(50)
        state.sourceInterval = .seconds(900)
        state.sourceProblem = MemberProblem(reason: "HTML", since: Self.start - .seconds(5))
        // An adaptive interval has no regular rounds.
        state.noRoomSince = Self.start - .seconds(7)
        state.leaving = [Self.member(Self.urls[3]), Self.member(Self.urls[4])]
        state.isUrgent = true
        let machine = RefreshMachine(
            Self.rules(.adaptive(min: .seconds(600), max: .seconds(6000))), state, at: Self.start)
        state.date = Self.start
        #expect(machine.state == state)
    }

    @Test("The origin's wish for no request outlives the process")
    func earliest() {
        let interval = RefreshInterval.adaptive(min: .seconds(3600), max: .seconds(3600))
        var simulation = RefreshSimulation(Self.urls, Self.rules(interval))
        simulation.run(for: .seconds(10))
        simulation.answers[Self.urls[0]] = .answer(.confirmed(least: .seconds(50_000)))
        simulation.requestRefresh()
        simulation.run(for: .seconds(10))
        simulation.restart(after: .seconds(1))
        simulation.forgetRequests()
        simulation.run(for: .seconds(49_900))
        #expect(!simulation.requests.contains { $0.url == Self.urls[0] } && simulation.requests.count > 40)
        simulation.run(for: .seconds(7200))
        #expect(simulation.requests.contains { $0.url == Self.urls[0] })
    }

    @Test("A requested refresh that a kill interrupts begins again at once")
    func interruptedRequest() {
        var simulation = RefreshSimulation(Self.urls, Self.rules())
        simulation.run(for: .seconds(100))
        simulation.requestRefresh()
        simulation.run(for: .seconds(2))
        simulation.restart(after: .seconds(1))
        simulation.forgetRequests()
        simulation.run(for: .seconds(10))
        #expect(simulation.requests.count == 5 && simulation.switches.map(\.ends) == [true])
    }

    @Test("A body in the stage that a kill or a failed switch discards is due again, not after its next interval")
    func discardedBody() throws {
        let item = RefreshSimulation.items(["http://a.example/1"])[0]
        let interval = RefreshInterval.adaptive(min: .seconds(600), max: .seconds(86_400))
        var member = RefreshMachine.Member(item: item, hasCopy: true, due: Self.start)
        member.interval = .seconds(86_400)
        let state = RefreshMachine.State(members: [member], sourceDue: Self.start, date: Self.start)
        var machine = RefreshMachine(Self.rules(interval), state, at: Self.start)
        machine.beginSource()
        _ = machine.handle(.sourceAnswered(.unchanged(least: .zero)), at: Self.start)
        let begun = machine.beginMember(ofHost: item.host, at: Self.start)
        let request = try #require(begun)
        let answer = MemberAnswer.staged(isChanged: true, least: .seconds(20_000))
        let actions = machine.handle(
            .memberAnswered(key: item.key, ticket: request.ticket, answer), at: Self.start + .seconds(1))
        #expect(actions == [.publish(kept: [], changed: [item.key], ends: true)])
        #expect(machine.state.members[0].due <= Self.start && machine.state.members[0].earliest == nil)
        let dropped = machine.handle(.switchFailed(isRoom: false), at: Self.start + .seconds(2))
        #expect(dropped == [.dropStage])
        #expect(machine.members[item.key]?.due == Self.start + .seconds(602))
        #expect(machine.members[item.key]?.earliest == nil)
    }
}
