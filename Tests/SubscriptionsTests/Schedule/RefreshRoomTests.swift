import Primitives
import Testing

@testable import Subscriptions

@Suite("Members for which alone the cache has no room")
struct RefreshRoomTests {
    private static let urls = RefreshSimulation.urls(4)
    private static let rules = RefreshMachine.Rules(name: "news", interval: .fixed(.seconds(3600)))

    private static func simulation(roomless: ArraySlice<String>) -> RefreshSimulation {
        var simulation = RefreshSimulation(urls, rules)
        simulation.run(for: .seconds(10))
        for url in urls { simulation.answers[url] = .version(2) }
        for url in roomless { simulation.answers[url] = .answer(.noRoomAlone(reason: "no room")) }
        simulation.forgetRequests()
        simulation.requestRefresh()
        simulation.run(for: .seconds(10))
        return simulation
    }

    @Test("Such a member keeps its copy with the reason, and all others switch")
    func one() {
        let simulation = Self.simulation(roomless: Self.urls[1...1])
        #expect(Self.urls.map { simulation.version($0) } == [2, 1, 2, 2])
        #expect(simulation.problem(Self.urls[1])?.reason == "no room")
        #expect(simulation.switches.count == 1 && simulation.dropCount == 0 && simulation.machine.noRoomSince == nil)
    }

    @Test("If no member can be staged or confirmed, the old generation stays, and the next round asks for all again")
    func all() {
        var simulation = Self.simulation(roomless: Self.urls[...])
        #expect(simulation.switches.isEmpty && simulation.dropCount == 1 && simulation.machine.noRoomSince != nil)
        #expect(Self.urls.allSatisfy { simulation.version($0) == 1 })
        // The next round, in which each member has a place of its own, begins in an hour.
        simulation.run(for: .seconds(3600))
        for _ in 0..<5 {
            simulation.forgetRequests()
            simulation.run(for: .seconds(3600))
            #expect(Set(simulation.requests.map(\.url)) == Set(Self.urls))
        }
        for url in Self.urls { simulation.answers[url] = .version(2) }
        simulation.run(for: .seconds(7200))
        #expect(Self.urls.allSatisfy { simulation.version($0) == 2 } && simulation.machine.noRoomSince == nil)
    }

    @Test(
        "With adaptive intervals, members without room that are alone in their round do not make the set lack room",
        arguments: [1, 2])
    func adaptive(count: Int) {
        let rules = RefreshMachine.Rules(name: "news", interval: .adaptive(min: .seconds(60), max: .seconds(86_400)))
        let urls = RefreshSimulation.urls(20)
        var simulation = RefreshSimulation(urls, rules)
        // The intervals of the other members grow to a day.
        simulation.changes = Set(urls.prefix(count))
        simulation.run(for: .seconds(6 * 86_400))
        simulation.changes = []
        let version = simulation.version(urls[0])
        for url in urls.prefix(count) { simulation.answers[url] = .answer(.noRoomAlone(reason: "no room")) }
        simulation.forgetRequests()
        var lacks = 0
        for _ in 0..<(10 * 24) {
            simulation.run(for: .seconds(3600))
            if simulation.machine.noRoomSince != nil { lacks += 1 }
        }
        #expect(lacks == 0 && simulation.dropCount == 0)
        let attempts = simulation.requests.count { $0.url == urls[0] }
        #expect((10...30).contains(attempts), "\(attempts)")
        #expect(simulation.version(urls[0]) == version && simulation.problem(urls[0])?.reason == "no room")
    }

    @Test("If members one after the other find no room, the set lacks room as soon as they are the most")
    func oneAfterTheOther() {
        let rules = RefreshMachine.Rules(name: "news", interval: .adaptive(min: .seconds(60), max: .seconds(86_400)))
        var simulation = RefreshSimulation(Self.urls, rules)
        simulation.run(for: .seconds(10))
        // Two members have longer intervals than the others, which change.
        simulation.changes = Set(Self.urls[2...])
        simulation.run(for: .seconds(6 * 86_400))
        simulation.changes = []
        for url in Self.urls[2...] { simulation.answers[url] = .answer(.noRoomAlone(reason: "no room")) }
        simulation.run(for: .seconds(3600))
        #expect(simulation.machine.noRoomSince == nil && simulation.problem(Self.urls[2]) != nil)
        for url in Self.urls[..<2] { simulation.answers[url] = .answer(.noRoomAlone(reason: "no room")) }
        simulation.run(for: .seconds(2 * 86_400))
        #expect(simulation.machine.noRoomSince != nil && simulation.held.count == 4)
        for url in Self.urls { simulation.answers[url] = .version(100_000) }
        simulation.run(for: .seconds(3 * 86_400))
        #expect(simulation.machine.noRoomSince == nil && Self.urls.allSatisfy { simulation.version($0) == 100_000 })
    }

    @Test("The lack of room of most members goes on while others are confirmed", arguments: [true, false])
    func lastingLack(isFixed: Bool) {
        let rules = RefreshMachine.Rules(
            name: "news",
            interval: isFixed ? .fixed(.seconds(3600)) : .adaptive(min: .seconds(60), max: .seconds(86_400)))
        var simulation = RefreshSimulation(Self.urls, rules)
        simulation.run(for: .seconds(10))
        for url in Self.urls[1...] { simulation.answers[url] = .answer(.noRoomAlone(reason: "no room")) }
        simulation.requestRefresh()
        simulation.run(for: .seconds(10))
        let since = simulation.machine.noRoomSince
        #expect(since != nil)
        for _ in 0..<48 {
            simulation.run(for: .seconds(3600))
            #expect(simulation.machine.noRoomSince == since)
        }
        for url in Self.urls { simulation.answers[url] = .version(2) }
        simulation.requestRefresh()
        simulation.run(for: .seconds(10))
        #expect(simulation.machine.noRoomSince == nil && Self.urls.allSatisfy { simulation.version($0) == 2 })
    }

    @Test(
        "A set without room is tried less often, down to each 15 minutes", arguments: [true, false], [true, false])
    func growingPause(isFixed: Bool, isShared: Bool) {
        let rules = RefreshMachine.Rules(
            name: "news", interval: isFixed ? .fixed(.seconds(10)) : .adaptive(min: .seconds(10), max: .seconds(3600)))
        var simulation = RefreshSimulation(Self.urls, rules)
        if isShared {
            simulation.run(for: .seconds(5))
            simulation.hasRoom = false
        }
        for url in Self.urls {
            simulation.answers[url] = isShared ? .version(3) : .answer(.noRoomAlone(reason: "no room"))
        }
        simulation.run(for: .seconds(7200))
        simulation.forgetRequests()
        simulation.run(for: .seconds(86_400))
        for url in Self.urls {
            let count = simulation.requests.count { $0.url == url }
            #expect((80...100).contains(count), "\(count)")
        }
        // Room is found within this time.
        simulation.hasRoom = true
        for url in Self.urls { simulation.answers[url] = .version(2) }
        simulation.run(for: .seconds(960))
        #expect(Self.urls.allSatisfy { simulation.version($0) == 2 } && simulation.machine.noRoomSince == nil)
    }

    @Test("The attempts for the only member of a set become fewer, too, and the set lacks room")
    func onlyMember() {
        var simulation = RefreshSimulation(Array(Self.urls[..<1]), Self.rules)
        simulation.run(for: .seconds(10))
        simulation.answers[Self.urls[0]] = .answer(.noRoomAlone(reason: "no room"))
        simulation.run(for: .seconds(86_400))
        #expect(simulation.machine.noRoomSince != nil && simulation.version(Self.urls[0]) == 1)
        simulation.forgetRequests()
        simulation.run(for: .seconds(10 * 86_400))
        #expect((5...11).contains(simulation.requests.count), "\(simulation.requests.count)")
        simulation.answers[Self.urls[0]] = .version(2)
        simulation.requestRefresh()
        simulation.run(for: .seconds(10))
        #expect(simulation.machine.noRoomSince == nil && simulation.version(Self.urls[0]) == 2)
    }

    @Test("The attempts become fewer, until there is one in a day or two; a requested refresh tries at once")
    func backOff() {
        var simulation = Self.simulation(roomless: Self.urls[1...1])
        func count() -> Int { simulation.requests.count { $0.url == Self.urls[1] } }
        simulation.forgetRequests()
        simulation.run(for: .seconds(86_400))
        #expect((3...8).contains(count()), "\(count())")
        simulation.forgetRequests()
        simulation.run(for: .seconds(10 * 86_400))
        #expect((5...11).contains(count()), "\(count())")
        simulation.forgetRequests()
        simulation.answers[Self.urls[1]] = .version(2)
        simulation.requestRefresh()
        simulation.run(for: .seconds(10))
        #expect(simulation.version(Self.urls[1]) == 2 && simulation.problem(Self.urls[1]) == nil)
    }
}
