import Primitives
import TestSupport
import Testing

@testable import Subscriptions

@Suite("Members that wait for requests, by hosts and times")
struct DueQueueTests {
    private static let start = Timestamp(seconds: 1_800_000_000)

    @Test("Hosts come in the order of their first members, also after holds and outdated elements")
    func randomHistories() {
        for seed in Seeds.range(1..<4) {
            var random = SplitMix64(seed: seed)
            var queue = DueQueue()
            // The members by their keys, and the holds of hosts: the same as in the queue, without order.
            var members: [String: (host: String, due: Timestamp)] = [:]
            var holds: [String: Timestamp?] = [:]
            for number in 0..<3000 {
                let host = "h\(Int.random(in: 0..<5, using: &random))"
                let date = Self.start + .seconds(Int.random(in: 0..<1000, using: &random))
                switch Int.random(in: 0..<6, using: &random) {
                case 0...1:
                    let key = "\(host) \(number % 4)"
                    members[key] = (host, date)
                    queue.add(.init(due: date, key: key), host: host)
                case 2: members["\(host) \(number % 4)"] = nil
                case 3:
                    holds[host] = .some(Bool.random(using: &random) ? date : nil)
                    queue.hold(host, until: holds[host] ?? nil)
                case 4:
                    holds[host] = nil
                    queue.free(host)
                default:
                    let turns = members.values.compactMap { member -> Timestamp? in
                        guard let hold = holds[member.host] else { return member.due }
                        return hold.map { max($0, member.due) }
                    }
                    let first = queue.firstHost { members[$0.key]?.due == $0.due }
                    #expect(first?.date == turns.min(), "seed \(seed), step \(number)")
                    guard let host = first?.host, Bool.random(using: &random) else { continue }
                    let front = queue.front(of: host) { members[$0.key]?.due == $0.due }
                    #expect(front?.due == members.values.filter { $0.host == host }.map(\.due).min())
                    queue.removeFront(of: host)
                    members = members.filter { $0.key != front?.key }
                }
            }
        }
    }

    @Test("A host that is down does not make the queue longer with each failure")
    func noGrowth() {
        let rules = RefreshMachine.Rules(name: "news", interval: .fixed(.seconds(86_400)))
        var simulation = RefreshSimulation(RefreshSimulation.urls(200), rules)
        simulation.run(for: .seconds(1000))
        for url in RefreshSimulation.urls(200) {
            simulation.answers[url] = .answer(.failed(reason: "no answer", pause: nil))
        }
        simulation.forgetRequests()
        simulation.requestRefresh()
        simulation.run(for: .seconds(250))
        #expect(simulation.requests.count > 100 && simulation.machine.queue.count < 800)
    }
}
