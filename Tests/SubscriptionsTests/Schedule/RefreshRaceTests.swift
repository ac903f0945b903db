import Primitives
import Testing

@testable import Subscriptions

/// Answers that come too late, or without a question.
@Suite("Late answers of a refresh")
struct RefreshRaceTests {
    private let start = Timestamp(seconds: 1_800_000_000)
    private let urls = ["http://a.example/1", "http://b.example/2"]

    /// Both members have copies, and are asked for in the first round.
    private func requested() -> (machine: RefreshMachine, requests: [RefreshMachine.MemberRequest]) {
        let members = RefreshSimulation.items(urls).map {
            RefreshMachine.Member(item: $0, hasCopy: true, due: start + .seconds(3600))
        }
        let rules = RefreshMachine.Rules(name: "news", interval: .fixed(.seconds(3600)))
        let state = RefreshMachine.State(members: members, sourceDue: start + .seconds(3600), date: start)
        var machine = RefreshMachine(rules, state, at: start)
        let requests = ask(&machine, at: start)
        return (machine, requests)
    }

    /// Requests a refresh, and begins the requests of its round.
    private func ask(_ machine: inout RefreshMachine, at now: Timestamp) -> [RefreshMachine.MemberRequest] {
        _ = machine.handle(.refreshRequested, at: now)
        machine.beginSource()
        _ = machine.handle(.sourceAnswered(.unchanged(least: .zero)), at: now)
        return ["a.example", "b.example"].compactMap { machine.beginMember(ofHost: $0, at: now) }
    }

    private func member(_ machine: RefreshMachine, _ index: Int) -> RefreshMachine.Member? {
        machine.members[RefreshSimulation.key(urls[index])]
    }

    @Test("An answer to a request of an earlier round does not settle the member in a later round")
    func earlierRound() throws {
        var (machine, first) = requested()
        try #require(first.count == 2)
        let key = first[0].item.key
        let dropped = machine.handle(
            .memberAnswered(key: first[1].item.key, ticket: first[1].ticket, .noRoom), at: start + .seconds(1))
        #expect(dropped == [.dropStage])
        let second = ask(&machine, at: start + .seconds(2))
        #expect(second.map(\.item) == first.map(\.item) && second[0].ticket != first[0].ticket)
        let late = RefreshMachine.Event.memberAnswered(
            key: key, ticket: first[0].ticket, .staged(isChanged: true, least: .zero))
        #expect(machine.handle(late, at: start + .seconds(3)).isEmpty)
        #expect(member(machine, 0)?.step == .asking)
        let lack = RefreshMachine.Event.memberAnswered(key: key, ticket: first[0].ticket, .noRoom)
        #expect(machine.handle(lack, at: start + .seconds(3)).isEmpty && machine.round != nil)
        for request in second {
            _ = machine.handle(
                .memberAnswered(key: request.item.key, ticket: request.ticket, .confirmed(least: .zero)),
                at: start + .seconds(4))
        }
        #expect(member(machine, 0)?.step == .settled)
    }

    @Test("A refusal that does not stand delays the switch by maxDelay only while its host wants a pause")
    func refusalWithinPause() throws {
        let urls = ["http://a.example/1", "http://a.example/2", "http://b.example/3"]
        let members = RefreshSimulation.items(urls).map {
            RefreshMachine.Member(item: $0, hasCopy: true, due: start + .seconds(3600))
        }
        let rules = RefreshMachine.Rules(name: "news", interval: .fixed(.seconds(7200)))
        var machine = RefreshMachine(
            rules, RefreshMachine.State(members: members, sourceDue: start + .seconds(3600), date: start), at: start)
        var requests = ask(&machine, at: start)
        if let request = machine.beginMember(ofHost: "a.example", at: start) { requests.append(request) }
        let ofA = requests.filter { $0.item.host == "a.example" }
        let ofB = try #require(requests.first { $0.item.host == "b.example" })
        func answer(_ request: RefreshMachine.MemberRequest, _ answer: MemberAnswer) {
            _ = machine.handle(.memberAnswered(key: request.item.key, ticket: request.ticket, answer), at: start)
        }
        try #require(ofA.count == 2)
        _ = machine.handle(.hostPaused(host: "a.example", until: start + .seconds(3600)), at: start)
        answer(ofA[1], .failed(reason: "429", pause: .seconds(3600)))
        _ = machine.handle(.secretChanged, at: start)
        answer(ofA[0], .forbidden(reason: "403"))
        answer(ofB, .staged(isChanged: true, least: .zero))
        #expect(machine.handle(.time, at: start + .seconds(299)).isEmpty)
        let actions = machine.handle(.time, at: start + .seconds(300))
        #expect(actions.contains { if case .publish = $0 { true } else { false } })
    }

    @Test("An answer during the switch that ends its round does not settle the member, and no request begins")
    func duringSwitch() throws {
        var (machine, requests) = requested()
        try #require(requests.count == 2)
        _ = machine.handle(
            .memberAnswered(key: requests[1].item.key, ticket: requests[1].ticket, .confirmed(least: .zero)),
            at: start + .seconds(1))
        let failure = RefreshMachine.Event.memberAnswered(
            key: requests[0].item.key, ticket: requests[0].ticket, .failed(reason: "503", pause: nil))
        _ = machine.handle(failure, at: start + .seconds(1))
        let repetition = machine.beginMember(ofHost: "a.example", at: start + .seconds(100))
        let again = try #require(repetition)
        let actions = machine.handle(.time, at: start + .seconds(400))
        #expect(actions == [.publish(kept: [again.item.key], changed: [requests[1].item.key], ends: true)])
        _ = machine.handle(
            .memberAnswered(key: again.item.key, ticket: again.ticket, .staged(isChanged: true, least: .zero)),
            at: start + .seconds(401))
        #expect(member(machine, 0)?.problem?.reason == "503" && machine.nextTurn() == nil)
        _ = machine.handle(.switched(lost: [:]), at: start + .seconds(402))
        #expect(machine.round == nil && member(machine, 0)?.step == .resting)
    }

    @Test("A body without room during a switch ends the round only after the switch, which needs the stage")
    func noRoomDuringSwitch() throws {
        let members = RefreshSimulation.items(urls).enumerated().map { index, item in
            RefreshMachine.Member(item: item, hasCopy: index == 0, due: start)
        }
        let rules = RefreshMachine.Rules(name: "news", interval: .fixed(.seconds(3600)))
        let state = RefreshMachine.State(members: members, sourceDue: start, date: start)
        var machine = RefreshMachine(rules, state, at: start)
        let requests = ask(&machine, at: start)
        try #require(requests.count == 2)
        let joins = machine.handle(
            .memberAnswered(
                key: requests[1].item.key, ticket: requests[1].ticket, .staged(isChanged: false, least: .zero)),
            at: start + .seconds(1))
        #expect(joins == [.publish(kept: [requests[0].item.key], changed: [requests[1].item.key], ends: false)])
        let lack = RefreshMachine.Event.memberAnswered(
            key: requests[0].item.key, ticket: requests[0].ticket, .noRoom)
        #expect(machine.handle(lack, at: start + .seconds(2)).isEmpty && machine.round != nil)
        #expect(machine.handle(.switched(lost: [:]), at: start + .seconds(3)) == [.dropStage])
        #expect(machine.round == nil && machine.heldCount == 2)
    }

    @Test("An answer of a source that is not being asked, and a report without a switch, have no effect")
    func unasked() {
        var (machine, requests) = requested()
        let items = SourceAnswer.items(RefreshSimulation.items(["http://a.example/1"]), least: .zero)
        #expect(machine.handle(.sourceAnswered(items), at: start + .seconds(1)).isEmpty)
        #expect(
            machine.handle(.switched(lost: [requests[0].item.key: MemberLoss("removed")]), at: start + .seconds(1))
                .isEmpty)
        #expect(machine.handle(.switchFailed(isRoom: true), at: start + .seconds(1)).isEmpty)
        #expect(machine.wanted.count == 2 && machine.heldCount == 2 && machine.round != nil)
    }
}
