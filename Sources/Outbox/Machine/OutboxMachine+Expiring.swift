import Primitives

/// The ends of changes at their dates of expiry.
extension OutboxMachine {
    /// The most changes that expire, or get their outcomes, at a time. Each of them is in memory with its bodies until
    /// its state is durable, and thousands may have one date.
    static let expiryLimit = 16

    /// Whether the machine itself may begin one more decision.
    var canDecide: Bool {
        let count = decisions.values.count { decision in
            switch decision.kind {
            case .expire, .keep: true
            case .cancel, .retry, .squash, .resolve, .finish: false
            }
        }
        return count < Self.expiryLimit
    }

    /// Puts a change into the queue of expiries.
    mutating func noteExpiry(_ id: Change.ID, _ date: Timestamp) {
        expiries.insert(id, due: date, number: id)
        guard expiries.isSparse(laneOf.count) else { return }
        let known = laneOf
        var kept: [Change.ID: Set<Timestamp>] = [:]
        expiries.compact { known[$0.element] != nil && kept[$0.element, default: []].insert($0.due).inserted }
    }

    /// Begins the end of the changes that are due to expire. A head that is under way checks its date before it sends,
    /// and so does a change that may have been applied: its next attempt looks, and then ends it as done or expired.
    mutating func expireDue(_ turn: inout Turn) {
        while canDecide, let item = expiries.first {
            guard let key = laneOf[item.element] else {
                expiries.removeFirst()
                continue
            }
            guard item.due <= turn.now else { return }
            expiries.removeFirst()
            guard let lane = lanes[key], let slot = lane.queue.first(where: { $0.id == item.element }) else { continue }
            if lane.head?.id == slot.id { guard case .idle = lane.phase else { continue } }
            // A held change waits for its decision, which then finds the date.
            guard slot.summary.state == .pending || slot.summary.state == .blocked, deciding[slot.id] == nil else {
                continue
            }
            if slot.looksBeforeExpiry { continue }
            decide(.expire, [slot.id], &turn)
        }
    }
}
