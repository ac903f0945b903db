import Primitives
import TestSupport

@testable import Subscriptions

/// A random history of a subscription: origins that change, fail, want pauses and lose resources; a source that changes
/// and fails; a cache without room; kills, requested refreshes, and a clock that goes back. ``problems`` lists the
/// broken promises.
///
/// Answers take time, and belong to the origin's state at the request. The bodies of a round are in a stage of their
/// own, as in the cache. Dates of this type are of a clock that never goes back; ``wall`` is the machine's clock.
final class RefreshHistory {
    struct Origin {
        var isDown = false
        /// The pause that each request gets; `nil`: the host answers.
        var pause: Duration?
    }

    enum Work {
        case member(RefreshMachine.MemberRequest, MemberAnswer, version: Int?)
        case source(SourceAnswer)
        case publish(kept: [String], changed: [String], ends: Bool, ticket: UInt64)
    }

    var problems: [String] = []
    var (switchCount, requestCount, killCount, lateCount) = (0, 0, 0, 0)
    let rules: RefreshMachine.Rules
    let limits: PacingLimits
    var machine: RefreshMachine
    var pacer = HostPacer()
    var random: SplitMix64
    var real = Timestamp(seconds: 1_800_000_000)
    /// The time by which the machine's clock has gone back.
    var lag = Duration.zero
    var wall: Timestamp { real - lag }
    private var timer: Timestamp?
    private var work: [(end: Timestamp, work: Work)] = []
    private var saved: (state: RefreshMachine.State, pauses: [HostPacer.PausedHost: Timestamp], date: Timestamp)

    // The origins and the source.
    var origins: [String: Origin] = [:]
    var versions: [String: Int] = [:]
    var gone: Set<String> = []
    /// The URLs that the origins refuse to the present secret.
    var forbidden: Set<String> = []
    var listed: [String]
    var sourceFails = false
    /// The end of a pause that the source's host wants.
    var sourcePauseEnd: Timestamp?
    /// Whether the shell has the secret of the requests.
    var hasSecret = true
    /// Whether the source wants no request for three days after each answer.
    var isSlowSource: Bool

    // The cache.
    var hasRoom = true
    var failsToSwitch = false
    var loses = false
    private(set) var held: [String: Int] = [:]
    private var stages: [UInt64: [String: Int]] = [:]
    /// The keys that an answer of a round confirmed, by the round's number.
    private var confirmed: [UInt64: Set<String>] = [:]
    private var instantCount = 0

    init(seed: UInt64) {
        random = SplitMix64(seed: seed)
        let intervals: [RefreshInterval] = [
            .fixed(.seconds(600)), .fixed(.seconds(7200)), .adaptive(min: .seconds(60), max: .seconds(7200)),
            .adaptive(min: .seconds(600), max: .seconds(3600)),
        ]
        var rules = RefreshMachine.Rules(name: "news", interval: intervals[Int(seed % 4)])
        if seed / 4 % 2 == 0 { rules.quietHours = QuietHours("22:00-01:00") }
        isSlowSource = seed / 8 % 2 == 0
        self.rules = rules
        limits = PacingLimits(concurrency: seed / 16 % 2 == 0 ? 1 : 4)
        listed = RefreshSimulation.urls(12, hosts: 3)
        machine = RefreshMachine(rules, at: real)
        saved = (machine.state, [:], real)
    }

    func pick<Element>(_ elements: [Element]) -> Element { elements.randomElement(using: &random)! }
    func chance(_ part: Int, of whole: Int) -> Bool { Int.random(in: 0..<whole, using: &random) < part }
    func seconds(_ range: ClosedRange<Int>) -> Duration { .seconds(Int.random(in: range, using: &random)) }

    /// Runs until `time` has passed.
    func run(for time: Duration) {
        let end = real + time
        advance()
        while problems.isEmpty, let next = ([timer].compactMap { $0 } + work.map(\.end)).min(), next <= end {
            instantCount = next > real ? 0 : instantCount + 1
            if instantCount > 1000 { problems.append("the machine spins at \(real.milliseconds)") }
            real = max(next, real)
            advance()
        }
        real = max(end, real)
    }

    func requestRefresh() { perform(machine.handle(.refreshRequested, at: wall)) }

    /// A secret is stored to which the origins refuse no URL.
    func changeSecret() {
        forbidden = []
        perform(machine.handle(.secretChanged, at: wall))
        save()
    }

    /// Ends the process. The next one begins after some time with the state that was last saved.
    func kill(for time: Duration) {
        killCount += 1
        (work, stages, confirmed) = ([], [:], [:])
        real = real + time
        pacer = HostPacer(pauses: saved.pauses, savedAt: saved.date, at: wall)
        machine = RefreshMachine(rules, saved.state, at: wall)
    }

    private func save() { saved = (machine.state, pacer.allPauses(at: wall), wall) }

    // MARK: - The shell

    private func advance() {
        while let index = work.firstIndex(where: { $0.end <= real }) { finish(work.remove(at: index).work) }
        pacer.observe(wall)
        machine.observe(wall)
        if let date = machine.nextDate, date <= wall {
            perform(machine.handle(.time, at: wall, random: Double.random(in: 0...1, using: &random)))
        }
        if let date = machine.lookDate, date <= wall { lookForSecret() }
        if machine.sourceIsDue(at: wall), let end = sourcePauseEnd, end > real {
            perform(machine.handle(.sourcePaused(until: end - lag), at: wall))
        } else if machine.sourceIsDue(at: wall), lookForSecret() {
            machine.beginSource()
            work.append((real + seconds(0...40), .source(sourceAnswer())))
        }
        while let (host, date) = machine.nextTurn(), date <= wall, lookForSecret() {
            if case .wait(let date) = pacer.take(host, limits, at: wall) {
                machine.holdHost(host, until: date)
            } else if let request = machine.beginMember(ofHost: host, at: wall) {
                begin(request)
            } else {
                pacer.ended(host)
            }
        }
        if chance(1, of: 20) { save() }
        setTimer()
    }

    /// Returns whether requests may begin.
    @discardableResult
    private func lookForSecret() -> Bool {
        if !hasSecret {
            perform(machine.handle(.accessLost(reason: "no secret", lookDate: wall + .seconds(60)), at: wall))
        } else if machine.lookDate != nil {
            perform(machine.handle(.accessRegained, at: wall))
        }
        return hasSecret
    }

    /// A timer does not notice steps of the wall clock.
    private func setTimer() {
        var dates: [Timestamp] = []
        if let date = machine.nextDate { dates.append(max(date, wall + .milliseconds(1))) }
        for date in [machine.nextTurn()?.date, machine.lookDate].compactMap(\.self) {
            dates.append(max(date, wall + .milliseconds(1)))
        }
        timer = dates.min().map { $0 + lag }
    }

    private func begin(_ request: RefreshMachine.MemberRequest) {
        requestCount += 1
        if !hasSecret { problems.append("a request for \(request.item.url) without the secret") }
        let (url, key, host) = (request.item.url, request.item.key, request.item.host)
        let isUrgent = machine.round?.isUrgent == true
        if !isUrgent, let hours = rules.quietHours, hours.next(from: wall) > wall {
            problems.append("a request for \(url) in the quiet hours")
        }
        if !isUrgent, let earliest = machine.members[key]?.earliest, earliest > wall {
            problems.append("a request for \(url) against the origin's wish")
        }
        let origin = origins[host] ?? Origin()
        let version = versions[url] ?? 1
        let least = chance(1, of: 8) ? seconds(1...3600) : .zero
        let (time, answer): (Duration, MemberAnswer) =
            if origin.isDown {
                (.seconds(30), .failed(reason: "no answer", pause: nil))
            } else if let pause = origin.pause {
                (.seconds(1), .failed(reason: "429", pause: pause))
            } else if gone.contains(url) {
                (.seconds(1), .gone(reason: "404", forever: false))
            } else if forbidden.contains(url) {
                (seconds(0...5), .forbidden(reason: "403"))
            } else if held[key] == version {
                (seconds(0...3), .confirmed(least: least))
            } else {
                (seconds(0...20), .staged(isChanged: held[key] != nil, least: least))
            }
        let late = chance(1, of: 25) ? seconds(100...1500) : .zero
        work.append((real + time + late, .member(request, answer, version: version)))
    }

    private func finish(_ done: Work) {
        switch done {
        case .source(let answer):
            perform(machine.handle(.sourceAnswered(answer), at: wall))
            save()
        case .member(let request, var answer, let version):
            if case .staged = answer, !hasRoom, chance(1, of: 3) {
                answer = chance(1, of: 2) ? .noRoom : .noRoomAlone(reason: "no room")
            }
            pacer.ended(request.item.host)
            machine.freeHost(request.item.host)
            if request.ticket != machine.openTicket { lateCount += 1 }
            if case .failed(_, let pause?) = answer {
                pacer.pause(request.item.host, for: pause, at: wall)
                let end = pacer.pauseEnd(of: request.item.host, at: wall) ?? wall
                perform(machine.handle(.hostPaused(host: request.item.host, until: end), at: wall))
            }
            if case .staged = answer { stages[request.ticket, default: [:]][request.item.key] = version }
            if case .confirmed = answer { confirmed[request.ticket, default: []].insert(request.item.key) }
            let event = RefreshMachine.Event.memberAnswered(key: request.item.key, ticket: request.ticket, answer)
            perform(machine.handle(event, at: wall, random: Double.random(in: 0...1, using: &random)))
        case .publish(let kept, let changed, let ends, let ticket): publish(kept, changed, ends, ticket)
        }
    }

    private func perform(_ actions: [RefreshMachine.Action]) {
        for action in actions {
            switch action {
            case .dropStage: stages = [:]
            case .publish(let kept, let changed, let ends):
                let ticket = machine.round?.ticket ?? 0
                work.append(
                    (
                        real + seconds(0...30), .publish(kept: kept, changed: changed, ends: ends, ticket: ticket)
                    ))
            }
        }
    }

    private func publish(_ kept: [String], _ changed: [String], _ ends: Bool, _ ticket: UInt64) {
        guard hasRoom, !failsToSwitch else {
            return perform(machine.handle(.switchFailed(isRoom: !hasRoom), at: wall))
        }
        switchCount += 1
        var next: [String: Int] = [:]
        for key in kept {
            next[key] = held[key]
            if held[key] == nil { problems.append("\(key) is kept without a copy") }
        }
        for key in changed {
            next[key] = stages[ticket]?[key] ?? (confirmed[ticket]?.contains(key) == true ? held[key] : nil)
            if next[key] == nil {
                problems.append("\(key) switches to a body that no request of the round has brought")
            }
        }
        for key in machine.wanted where held[key] != nil && next[key] == nil {
            if machine.members[key]?.problem?.isLasting != true { problems.append("the copy of \(key) is gone") }
        }
        var lost: [String: MemberLoss] = [:]
        if loses, let key = next.keys.sorted().randomElement(using: &random) {
            let loss = MemberLoss("lost", keepsCopy: chance(1, of: 3), isPassing: chance(1, of: 2))
            next[key] = loss.keepsCopy ? held[key] : nil
            lost[key] = loss
        }
        if ends { (stages, confirmed) = ([:], [:]) }
        held = next
        perform(machine.handle(.switched(lost: lost), at: wall))
        for key in machine.wanted where machine.members[key]?.hasCopy != (held[key] != nil) {
            problems.append("the machine has a wrong idea of \(key)")
        }
        save()
    }

    private func sourceAnswer() -> SourceAnswer {
        if sourceFails { return .failed(reason: "HTML", pause: chance(1, of: 2) ? seconds(1...3000) : nil) }
        return .items(RefreshSimulation.items(listed), least: isSlowSource ? .seconds(3 * 86_400) : .zero)
    }
}
