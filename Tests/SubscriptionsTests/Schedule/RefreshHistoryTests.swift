import Primitives
import TestSupport
import Testing

@testable import Subscriptions

struct RefreshHistoryTests {
    @Test("In random histories every switch has its bodies, and every member gets the latest version in time")
    func randomHistories() {
        var (switches, requests, kills, late) = (0, 0, 0, 0)
        for seed in Seeds.range(0..<96) {
            let history = RefreshHistory(seed: seed)
            history.live(events: 150)
            history.settle()
            #expect(history.problems.isEmpty, "seed \(seed)")
            switches += history.switchCount
            requests += history.requestCount
            kills += history.killCount
            late += history.lateCount
        }
        print("\(switches) switches, \(requests) requests, \(kills) kills, \(late) late answers")
        // The histories reach the cases that they are made for.
        #expect(switches > 1000 && requests > 10_000 && kills > 100 && late > 50)
    }
}

extension RefreshHistory {
    func live(events: Int) {
        for _ in 0..<events where problems.isEmpty {
            run(for: seconds(1...1500))
            happen()
        }
    }

    private func happen() {
        let host = "h\(Int.random(in: 0..<3, using: &random)).example"
        switch Int.random(in: 0..<23, using: &random) {
        case 0: origins[host] = Origin(isDown: chance(1, of: 2))
        case 1: origins[host] = Origin(pause: chance(1, of: 2) ? seconds(1...5000) : nil)
        case 2: gone.formSymmetricDifference([pick(listed)])
        case 3: listed = Array(listed.shuffled(using: &random).prefix(Int.random(in: 8...12, using: &random)))
        case 4: listed = Array(Set(listed + [pick(RefreshSimulation.urls(18, hosts: 3))])).sorted()
        case 5:
            sourceFails = chance(1, of: 3)
            sourcePauseEnd = chance(1, of: 3) ? real + seconds(1...80_000) : nil
        case 6: requestRefresh()
        case 7: if chance(1, of: 2) { kill(for: seconds(0...7200)) }
        case 8:
            if chance(1, of: 2) {
                lag = lag + seconds(2...86_400)
                if chance(1, of: 2) { kill(for: seconds(0...60)) }
            }
        case 9: hasRoom = !chance(1, of: 3)
        case 10: failsToSwitch = chance(1, of: 3)
        case 11: loses = chance(1, of: 3)
        case 12: hasSecret = !chance(1, of: 3)
        case 13: forbidden.formUnion([pick(listed)])
        case 14: if chance(1, of: 3) { changeSecret() }
        default: for url in listed where chance(1, of: 3) { versions[url, default: 1] += 1 }
        }
    }

    /// A time without faults, except that in half of the histories one host stays away. All other members must get
    /// their latest version, although the source may not be due for days.
    func settle() {
        (sourceFails, hasRoom, failsToSwitch, loses, gone, hasSecret) = (false, true, false, false, [], true)
        origins = [:]
        changeSecret()
        let absent = chance(1, of: 2) ? "h0.example" : nil
        if let absent { origins[absent] = chance(1, of: 2) ? Origin(isDown: true) : Origin(pause: .seconds(7200)) }
        for url in listed { versions[url, default: 1] += 1 }
        // Two intervals, and 5,000 s for the longest wish or pause, 10,800 for the quiet hours, 1,500 for a late
        // answer, 600 for two delays, 1,800 for two catch-ups. A member without room may wait for a day, also if the
        // host has failed since then.
        let waits = machine.members.values.compactMap(\.earliest).contains { $0 > wall + .seconds(5000) }
        let isRoomless = machine.members.values.contains { $0.problem?.reason == "no room" }
        let time = rules.interval.longest * 2 + .seconds(waits || isRoomless ? 106_100 : 19_700)
        run(for: time)
        // The source may be due shortly before the end, and members that it lists then have the same time.
        let known = machine.wanted
        run(for: time)
        for key in known where problems.isEmpty {
            guard let member = machine.members[key], member.item.host != absent else { continue }
            let item = member.item
            let latest = versions[item.url] ?? 1
            if held[key] != latest {
                problems.append("\(item.url) has version \(held[key] ?? 0) instead of \(latest) at \(wall): \(member)")
            }
        }
    }
}
