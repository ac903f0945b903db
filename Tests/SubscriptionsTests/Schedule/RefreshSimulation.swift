import Primitives

@testable import Subscriptions

/// A subscription, its origins and a clock that jumps from one event to the next. An answer takes 100 ms by default.
struct RefreshSimulation {
    /// An answer for a member: the version of its body, or a failure.
    enum Answer {
        case version(Int)
        case answer(MemberAnswer)
    }

    var machine: RefreshMachine
    var pacer = HostPacer()
    var limits = PacingLimits()
    /// The time until the answer to a request.
    var requestTime: Duration = .milliseconds(100)
    /// Other times, by host.
    var requestTimes: [String: Duration] = [:]
    var now = Timestamp(seconds: 1_800_000_000)
    var source: SourceAnswer
    /// The answers by URL; other URLs have version 1.
    var answers: [String: Answer] = [:]
    /// The URLs with a new version at each request.
    var changes: Set<String> = []
    /// The versions that readers get.
    private(set) var held: [String: Int] = [:]
    private var staged: [String: Int] = [:]
    /// The requests with their times, in order.
    private(set) var requests: [(date: Timestamp, url: String)] = []
    private(set) var switches: [(date: Timestamp, held: Int, ends: Bool)] = []
    private(set) var sourceDates: [Timestamp] = []
    private(set) var dropCount = 0
    private var running: [(end: Timestamp, request: RefreshMachine.MemberRequest)] = []
    var hasRoom = true
    /// Whether the cache fails in each switch.
    var failsToSwitch = false
    private(set) var failedSwitches = 0
    var lost: [String: MemberLoss] = [:]
    /// The end of a pause that the source's host wants; `nil`: it wants none.
    var sourcePauseEnd: Timestamp?
    /// Whether the shell has the secret of the requests. It looks for a missing one after a minute.
    var hasSecret = true
    private(set) var lookCount = 0

    init(_ urls: [String], _ rules: RefreshMachine.Rules) {
        machine = RefreshMachine(rules, at: now)
        source = .items(Self.items(urls), least: .zero)
    }

    static func items(_ urls: [String]) -> [WantedItem] {
        urls.map { url in
            let host = url.split(separator: "/")[1]
            return WantedItem(url: url, key: key(url), host: String(host))
        }
    }

    static func key(_ url: String) -> String { "key of " + url }

    static func urls(_ count: Int, hosts: Int = 1) -> [String] {
        (0..<count).map { "http://h\($0 % hosts).example/\($0)" }
    }

    /// Runs until `time` has passed.
    mutating func run(for time: Duration) {
        let end = now + time
        step()
        while let next = nextDate(), next <= end {
            now = max(next, now)
            step()
        }
        now = end
        step()
    }

    /// The server is down for some time: its requests are lost, and its clock goes on.
    mutating func restart(after time: Duration) {
        running = []
        staged = [:]
        pacer = HostPacer()
        now = now + time
        machine = RefreshMachine(machine.rules, machine.state, at: now)
    }

    mutating func turnClockBack(_ time: Duration) {
        now = now - time
        running = running.map { ($0.end - time, $0.request) }
    }

    /// Another secret is stored.
    mutating func changeSecret() { perform(machine.handle(.secretChanged, at: now)) }

    mutating func requestRefresh() { perform(machine.handle(.refreshRequested, at: now)) }

    private mutating func nextDate() -> Timestamp? {
        var dates = running.map(\.end)
        if let date = machine.nextDate, date > now { dates.append(date) }
        if let date = machine.nextTurn()?.date { dates.append(date) }
        if let date = machine.lookDate { dates.append(date) }
        return dates.min()
    }

    private mutating func step() {
        let ended = running.filter { $0.end <= now }
        running.removeAll { $0.end <= now }
        for (_, request) in ended { answer(request) }
        if let date = machine.lookDate, date <= now { lookForSecret() }
        if machine.sourceIsDue(at: now), let end = sourcePauseEnd, end > now {
            perform(machine.handle(.sourcePaused(until: end), at: now))
        } else if machine.sourceIsDue(at: now), lookForSecret() {
            machine.beginSource()
            sourceDates.append(now)
            perform(machine.handle(.sourceAnswered(source), at: now))
        }
        pacer.observe(now)
        machine.observe(now)
        if let date = machine.nextDate, date <= now { perform(machine.handle(.time, at: now)) }
        while let (host, date) = machine.nextTurn(), date <= now, lookForSecret() {
            if case .wait(let date) = pacer.take(host, limits, at: now) {
                machine.holdHost(host, until: date)
                continue
            }
            guard let request = machine.beginMember(ofHost: host, at: now) else {
                pacer.ended(host)
                continue
            }
            requests.append((now, request.item.url))
            running.append((now + (requestTimes[host] ?? requestTime), request))
        }
    }

    /// Returns whether requests may begin.
    @discardableResult
    private mutating func lookForSecret() -> Bool {
        if !hasSecret {
            lookCount += 1
            perform(machine.handle(.accessLost(reason: "no secret", lookDate: now + .seconds(60)), at: now))
        } else if machine.lookDate != nil {
            perform(machine.handle(.accessRegained, at: now))
        }
        return hasSecret
    }

    private mutating func answer(_ request: RefreshMachine.MemberRequest) {
        let (item, key) = (request.item, request.item.key)
        pacer.ended(item.host)
        machine.freeHost(item.host)
        if changes.contains(item.url) { answers[item.url] = .version((held[key] ?? 0) + 1) }
        let answer: MemberAnswer
        switch answers[item.url] ?? .version(1) {
        case .answer(let failure):
            if case .failed(_, let pause?) = failure {
                pacer.pause(item.host, for: pause, at: now)
                if let end = pacer.pauseEnd(of: item.host, at: now) {
                    perform(machine.handle(.hostPaused(host: item.host, until: end), at: now))
                }
            }
            answer = failure
        case .version(let version):
            if held[key] == version {
                answer = .confirmed(least: .zero)
            } else {
                staged[key] = version
                answer = .staged(isChanged: held[key] != nil, least: .zero)
            }
        }
        perform(machine.handle(.memberAnswered(key: key, ticket: request.ticket, answer), at: now))
    }

    private mutating func perform(_ actions: [RefreshMachine.Action]) {
        for action in actions {
            switch action {
            case .dropStage:
                staged = [:]
                dropCount += 1
            case .publish(let kept, let changed, let ends):
                guard hasRoom, !failsToSwitch else {
                    failedSwitches += 1
                    perform(machine.handle(.switchFailed(isRoom: !hasRoom), at: now))
                    continue
                }
                var next: [String: Int] = [:]
                for key in kept { next[key] = held[key] }
                for key in changed { next[key] = staged.removeValue(forKey: key) ?? held[key] }
                for (key, loss) in lost { next[key] = loss.keepsCopy ? held[key] : nil }
                if ends { staged = [:] }
                held = next
                switches.append((now, next.count, ends))
                perform(machine.handle(.switched(lost: lost), at: now))
            }
        }
    }

    func version(_ url: String) -> Int? { held[Self.key(url)] }
    func problem(_ url: String) -> MemberProblem? { machine.members[Self.key(url)]?.problem }

    /// The most requests to one host within a second.
    var busiestSecond: Int {
        Dictionary(grouping: requests) { request in
            "\(request.date.milliseconds / 1000) \(request.url.split(separator: "/")[1])"
        }.values.map(\.count).max() ?? 0
    }

    /// The shortest time between two requests to one host.
    var shortestGap: Duration {
        var last: [Substring: Timestamp] = [:]
        var shortest: Duration = .seconds(1_000_000)
        for (date, url) in requests {
            let host = url.split(separator: "/")[1]
            if let before = last[host] { shortest = min(shortest, date - before) }
            last[host] = date
        }
        return shortest
    }

    mutating func forgetRequests() { (requests, switches, sourceDates) = ([], [], []) }
}
