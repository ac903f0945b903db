import Primitives

/// The turns of namespaces and origins. The places may not suffice for all heads that are due, and an origin may take
/// minutes for each request. So each start goes to the namespace that has waited longest, and then to the next one of
/// its origins. The places of an origin go round in the same way, so that no namespace keeps another from an origin.
extension OutboxMachine {
    /// Starts the heads that are due, as far as there are places.
    mutating func startDue(_ turn: inout Turn) {
        var places = flightLimit - flightCount
        guard places > 0 else { return }
        var candidates = waiting.order
        var turns: [String] = []
        while places > 0, !candidates.isEmpty {
            var left: [String] = []
            for namespace in candidates {
                guard places > 0 else { break }
                guard startNext(of: namespace, &turn) else { continue }
                places -= 1
                left.append(namespace)
            }
            turns += left
            candidates = left
        }
        waiting.end(turns: turns)
    }

    /// Starts one head of a namespace. Returns `false` when none can start.
    private mutating func startNext(of namespace: String, _ turn: inout Turn) -> Bool {
        if isMissing(namespace, turn.now) { return false }
        for _ in 0..<waiting.originCount(of: namespace) {
            guard let origin = waiting.nextOrigin(of: namespace) else { return false }
            if let key = takeDue(namespace, origin, turn.now) {
                start(key, origin, &turn)
                noteProbe(namespace, lanes[key]!.head!.id, turn.now)
                return true
            }
        }
        return false
    }

    /// Takes the first lane out of a queue if its head can start.
    private mutating func takeDue(_ namespace: String, _ origin: String, _ now: Timestamp) -> LaneKey? {
        hosts[origin]?.renewPauses(now)
        while let item = waiting.first(namespace, origin) {
            if isCurrent(item) {
                guard hosts[origin]!.canStart(namespace, now), isDue(item, now), hasTurn(namespace, origin, now) else {
                    return nil
                }
                waiting.removeFirst(namespace, origin)
                return item.element
            }
            waiting.removeFirst(namespace, origin)
        }
        return nil
    }

    /// Whether the origin has a place beside those for the namespaces that have waited longer for it.
    private func hasTurn(_ namespace: String, _ origin: String, _ now: Timestamp) -> Bool {
        guard let host = hosts[origin] else { return false }
        let ahead = host.namespaces.prefix { $0 != namespace }.count { other in
            guard let item = waiting.first(other, origin) else { return false }
            return isCurrent(item) && isDue(item, now) && !isMissing(other, now) && host.canStart(other, now)
        }
        return ahead < host.freePlaces
    }

    private func isDue(_ item: DueQueue<LaneKey>.Item, _ now: Timestamp) -> Bool {
        guard item.due > now else { return true }
        return lanes[item.element]?.head.map { item.due - now > $0.pause } ?? false
    }

    /// Whether an item of a queue is still the head that waits.
    private func isCurrent(_ item: DueQueue<LaneKey>.Item) -> Bool {
        guard let lane = lanes[item.element], case .idle = lane.phase, let head = lane.head else { return false }
        return head.id == item.number && head.due == item.due && isStartable(head)
    }

    private func isStartable(_ slot: Lane.Slot) -> Bool {
        deciding[slot.id] == nil && unkept[slot.id] == nil && !slot.summary.state.stopsLane
    }

    /// Puts the head of an idle lane into its queue.
    mutating func arm(_ key: LaneKey) {
        guard let head = lanes[key]?.head, isStartable(head) else { return }
        let origin = head.summary.target.origin
        waiting.insert(key, origin, due: head.due, number: head.id)
        guard waiting.isSparse(key.namespace, origin) else { return }
        // The copy leaves the machine free for the check of each item.
        var sparse = waiting
        var kept: Set<LaneKey> = []
        sparse.compact(key.namespace, origin) { isCurrent($0) && kept.insert($0.element).inserted }
        waiting = sparse
    }

    mutating func start(_ key: LaneKey, _ origin: String, _ turn: inout Turn) {
        hosts[origin]!.started(key.namespace)
        lastFlight += 1
        lanes[key]!.flight = lastFlight
        lanes[key]!.phase = .loading
        lanes[key]!.hasNewCredential = false
        turn.actions.append(.load(lanes[key]!.head!.id))
    }

    // MARK: - Changes

    /// Counts a change at its origin.
    mutating func enter(_ summary: ChangeSummary) {
        let origin = summary.target.origin
        hosts[origin, default: HostState()].changes += 1
        if waiting.add(summary.namespace, origin) { hosts[origin]!.namespaces.append(summary.namespace) }
    }

    /// The opposite of ``enter(_:)``.
    mutating func exit(_ summary: ChangeSummary) {
        let origin = summary.target.origin
        hosts[origin]?.changes -= 1
        if waiting.remove(summary.namespace, origin) { hosts[origin]?.namespaces.removeAll { $0 == summary.namespace } }
    }

    // MARK: - Dates

    /// The time for which all changes of a namespace for an origin wait, because of the answers to some; `nil`: they do
    /// not.
    package func wait(for origin: String, in namespace: String, _ now: Timestamp) -> OriginWait? {
        hosts[origin]?.wait(namespace, now)
    }

    /// The date of the next start or expiry that no other event causes.
    func nextDate(_ now: Timestamp) -> Timestamp? {
        // The end of a flight, or of an expiry, is an event.
        var dates = canDecide ? expiries.first.map { [$0.due] } ?? [] : []
        if let date = nextKeeping { dates.append(date) }
        guard flightCount < flightLimit else { return dates.min() }
        waiting.forEachDate { namespace, origin, due in
            let due = max(due, missing[namespace]?.wait.end ?? due)
            if let date = hosts[origin]?.nextStart(of: namespace, due: due) { dates.append(date) }
        }
        return dates.min()
    }
}
