import Primitives

/// The lanes that wait for places, by namespace and origin, and the turns of both. Its owner checks a lane when the
/// turn of the lane comes, as with ``DueQueue``.
struct WaitingLanes: Sendable {
    /// The lanes of a namespace with heads for one origin.
    private struct Queue: Sendable {
        /// The changes of the namespace for the origin, also those behind the heads.
        var changes = 0
        var lanes = DueQueue<LaneKey>()
        /// The place in ``Namespace/origins``.
        var place: Int
    }

    private struct Namespace: Sendable {
        /// In the order of their turns, from `next` on.
        var origins: [String] = []
        var next = 0
        var queues: [String: Queue] = [:]
    }

    private var namespaces: [String: Namespace] = [:]
    /// The namespaces with changes. The one that has waited longest for a start is the first.
    private(set) var order: [String] = []

    /// Notes a change. Returns whether it is the only one of its namespace for the origin.
    mutating func add(_ namespace: String, _ origin: String) -> Bool {
        if namespaces[namespace] == nil {
            namespaces[namespace] = Namespace()
            order.append(namespace)
        }
        let isNew = namespaces[namespace]!.queues[origin] == nil
        if isNew {
            namespaces[namespace]!.queues[origin] = Queue(place: namespaces[namespace]!.origins.count)
            namespaces[namespace]!.origins.append(origin)
        }
        namespaces[namespace]!.queues[origin]!.changes += 1
        return isNew
    }

    /// Forgets a change. Returns whether it was the last one of its namespace for the origin.
    mutating func remove(_ namespace: String, _ origin: String) -> Bool {
        guard let queue = namespaces[namespace]?.queues[origin] else { return false }
        guard queue.changes == 1 else {
            namespaces[namespace]!.queues[origin]!.changes -= 1
            return false
        }
        namespaces[namespace]!.queues[origin] = nil
        // The last origin takes the place, so that the end of many origins takes no long time.
        let moved = namespaces[namespace]!.origins.removeLast()
        if moved != origin {
            namespaces[namespace]!.origins[queue.place] = moved
            namespaces[namespace]!.queues[moved]!.place = queue.place
        }
        if namespaces[namespace]!.origins.isEmpty { removeAll(of: namespace) }
        return true
    }

    mutating func removeAll(of namespace: String) {
        guard namespaces.removeValue(forKey: namespace) != nil else { return }
        order.removeAll { $0 == namespace }
    }

    // MARK: - Lanes

    /// Inserts a lane with a head for the origin.
    mutating func insert(_ key: LaneKey, _ origin: String, due: Timestamp, number: Change.ID) {
        namespaces[key.namespace]?.queues[origin]?.lanes.insert(key, due: due, number: number)
    }

    /// The number of items, also of those without a meaning.
    func count(_ namespace: String, _ origin: String) -> Int {
        namespaces[namespace]?.queues[origin]?.lanes.count ?? 0
    }

    /// Whether ``compact(_:_:_:)`` is due.
    func isSparse(_ namespace: String, _ origin: String) -> Bool {
        guard let queue = namespaces[namespace]?.queues[origin] else { return false }
        return queue.lanes.isSparse(queue.changes)
    }

    /// Keeps certain items.
    mutating func compact(_ namespace: String, _ origin: String, _ isKept: (DueQueue<LaneKey>.Item) -> Bool) {
        namespaces[namespace]?.queues[origin]?.lanes.compact(isKept)
    }

    func first(_ namespace: String, _ origin: String) -> DueQueue<LaneKey>.Item? {
        namespaces[namespace]?.queues[origin]?.lanes.first
    }

    mutating func removeFirst(_ namespace: String, _ origin: String) {
        namespaces[namespace]?.queues[origin]?.lanes.removeFirst()
    }

    /// Calls `body` with the first date of each queue.
    func forEachDate(_ body: (_ namespace: String, _ origin: String, _ due: Timestamp) -> Void) {
        for (name, namespace) in namespaces {
            for (origin, queue) in namespace.queues {
                if let item = queue.lanes.first { body(name, origin, item.due) }
            }
        }
    }

    // MARK: - Turns

    func originCount(of namespace: String) -> Int { namespaces[namespace]?.origins.count ?? 0 }

    /// Ends the turn of an origin, and returns the next one.
    mutating func nextOrigin(of namespace: String) -> String? {
        guard let count = namespaces[namespace]?.origins.count, count > 0 else { return nil }
        let place = namespaces[namespace]!.next % count
        namespaces[namespace]!.next = place + 1
        return namespaces[namespace]!.origins[place]
    }

    /// Ends the turns of the namespaces that have started a head, in the order of the starts.
    mutating func end(turns: [String]) {
        guard !turns.isEmpty else { return }
        var last: [String: Int] = [:]
        for (number, namespace) in turns.enumerated() { last[namespace] = number }
        order =
            order.filter { last[$0] == nil }
            + order.filter { last[$0] != nil }.sorted { last[$0]! < last[$1]! }
    }
}
