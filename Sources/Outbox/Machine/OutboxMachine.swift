import Primitives

/// The state machine that sends the changes of all lanes.
///
/// The machine has no lock, no clock and no I/O: an event goes in, and the actions that follow come out. Bodies are in
/// memory only while their change is under way, or while a decision about it is.
///
///     var machine = OutboxMachine()
///     let start = OutboxEvent.restarted(try store.unended(), pauses: try store.pauses())
///     for action in machine.step(start, now: clock.now(), random: &random) {
///         perform(action)  // the results come back as events
///     }
///
/// Invariants:
/// - A lane has at most one change under way, which is its first; an origin has at most two, and all origins together
///   have at most `flightLimit`. At most 16 changes expire, or get their outcomes, at a time. So the bodies of few
///   changes are in memory, beside those of a squash.
/// - Namespaces take turns for the places, and so do the origins of a namespace, and the namespaces of an origin.
/// - A request is ordered only after the state `sending` is durable, so a start finds each request that may be out.
/// - Only durable states are published. The outcome of a request is forgotten only with the process.
/// - A change leaves its lane only in an ended state.
/// - No answer, decision or end of a change shortens the pause that an origin wants of a namespace. No request of the
///   namespace begins within the pause, except one with the state `sending` already ordered.
package struct OutboxMachine: Sendable {
    /// The state of one call of ``step(_:now:random:)``.
    struct Turn {
        let now: Timestamp
        /// From 0 to 1.
        let jitter: Double
        var actions: [OutboxAction] = []
    }

    /// The age of a change from which a GET looks before the first request.
    static let freshAge: Duration = .seconds(5)
    static let hopLimit = 5
    /// The refusals in a row that lead to a look at once. Later looks wait.
    static let promptRefusals = 2
    /// The time after the first read of a confirmed change from which a failing read is the last. Until then, readers
    /// see the change. The origin may be away for a night.
    static let patience: Duration = .seconds(86_400)
    /// As ``patience``, for a change that others wait for: about ten reads.
    static let patienceOfLane: Duration = .seconds(600)

    let limits: OutboxLimits
    /// The most changes under way, over all origins.
    let flightLimit: Int
    var lanes: [LaneKey: Lane] = [:]
    var laneOf: [Change.ID: LaneKey] = [:]
    var hosts: [String: HostState] = [:]
    var waiting = WaitingLanes()
    var expiries = DueQueue<Change.ID>()
    /// The decisions that are being applied, by the first of their changes.
    var decisions: [Change.ID: Decision] = [:]
    /// The first change of the decision that a change takes part in. Such a change does not start.
    var deciding: [Change.ID: Change.ID] = [:]
    /// The namespaces that do not exist now, but have changes.
    var missing: [String: MissingNamespace] = [:]
    /// The outcomes of requests that the store could not keep.
    var unkept: [Change.ID: UnkeptOutcome] = [:]
    /// The lanes with a confirmed head.
    var confirmed: Set<LaneKey> = []
    var lastFlight: UInt64 = 0
    private var wakeDate: Timestamp?
    /// The latest date of a step, by which the machine notices that the clock has gone back.
    private var latest: Timestamp?
    /// The number of confirmations so far. A GET that begins now shows their effects. Dates cannot tell, because the
    /// clock may go back.
    package internal(set) var ticket: UInt64 = 0

    /// - Parameter flightLimit: as many as the client makes at a time. A change has at most one request.
    package init(limits: OutboxLimits = OutboxLimits(), flightLimit: Int = 64) {
        self.limits = limits
        self.flightLimit = max(flightLimit, 1)
    }

    package mutating func step(
        _ event: OutboxEvent, now: Timestamp, random: inout some RandomNumberGenerator
    ) -> [OutboxAction] {
        var turn = Turn(now: now, jitter: Double.random(in: 0...1, using: &random))
        // Threads may read the clock in one order and report in another.
        if let latest, now < latest - .seconds(1) { hurry(now) }
        latest = now
        switch event {
        case .accepted(let summary):
            add(summary, &turn)
            turn.actions.append(.publish(summary))
        case .restarted(let summaries, let pauses):
            for pause in pauses { restore(pause, now) }
            // Past events with dates in the future show that the clock has gone back. Then no row tells the rest of its
            // pause.
            let isBehind = pauses.contains { $0.start > now } || summaries.contains { $0.created > now }
            // A change that has been sent stays the first of its lane, also if an earlier one was reported later.
            for var summary in summaries.sorted(by: { ($0.isSent ? 0 : 1, $0.id) < ($1.isSent ? 0 : 1, $1.id) }) {
                if isBehind { summary.nextAttempt = nil }
                restore(summary, &turn)
            }
        case .timer: break
        case .loaded(let id, let change):
            if deciding[id] != nil { decisionLoaded(id, change, &turn) } else { loaded(id, change, &turn) }
        case .loadFailed(let id):
            if deciding[id] != nil {
                refuse(id, .notKept, &turn)
            } else if let lane = laneOf[id], lanes[lane]?.head?.id == id, case .loading? = lanes[lane]?.phase {
                storageFailed(lane, &turn)
            }
        case .committed(let ids): committed(ids, &turn)
        case .commitFailed(let ids): commitFailed(ids, &turn)
        case .readAnswered(let flight, let answer): readAnswered(flight, answer, &turn)
        case .readFailed(let flight): readFailed(flight, &turn)
        case .merged(let flight, let result): merged(flight, result, &turn)
        case .sendAnswered(let flight, let answer): sendAnswered(flight, answer, &turn)
        case .sendFailed(let flight, let failure): sendFailed(flight, failure, &turn)
        case .originRefused(let flight): originRefused(flight, &turn)
        case .credentialMissing(let flight): credentialMissing(flight, &turn)
        case .credentialUnreadable(let flight): credentialUnreadable(flight, &turn)
        case .namespaceMissing(let flight): namespaceMissing(flight, &turn)
        case .namespaceFound(let name): missing[name] = nil
        case .versionRemoved(let flight): versionRemoved(flight, &turn)
        case .versionNotRemoved(let flight): versionNotRemoved(flight, &turn)
        case .stored(let namespace, let key, let ticket, let etag, let digest):
            stored(namespace, key, ticket, etag, digest, &turn)
        case .credentialChanged(let namespace, let name): credentialChanged(namespace, name, &turn)
        case .cancel(let id): decide(.cancel, [id], &turn)
        case .retry(let id): decide(.retry, [id], &turn)
        case .resolve(let id, let resolution): decide(.resolve(resolution), [id], &turn)
        case .squash(let ids): decide(.squash, ids, &turn)
        case .discarded(let namespace): discard(namespace, &turn)
        }
        expireDue(&turn)
        keepDue(&turn)
        startDue(&turn)
        forgetHosts(now)
        let next = nextDate(now)
        if next != wakeDate {
            wakeDate = next
            turn.actions.append(.wake(next))
        } else if event == .timer, let next {
            // The shell's timer is spent.
            turn.actions.append(.wake(next))
        }
        return turn.actions
    }

    /// The number of changes under way, over all origins.
    package var flightCount: Int { hosts.values.reduce(0) { $0 + $1.flights } }

    /// The lane with the head that makes this flight. `nil` for a flight that was given up.
    func lane(of flight: Flight) -> LaneKey? {
        guard let key = laneOf[flight.change], let lane = lanes[key], lane.head?.id == flight.change,
            lane.flight == flight.number
        else { return nil }
        return key
    }
}
