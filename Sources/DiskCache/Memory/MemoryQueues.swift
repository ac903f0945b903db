import Primitives

/// The eviction queues of the memory tier: rings in a single array, linked by indices. Every operation is O(1).
struct MemoryQueues: EvictionQueues, Sendable {
    /// The index of an entry's node, which is used again after the entry was removed.
    typealias ID = Int
    typealias Failure = Never

    private struct Node {
        /// `nil` for a queue's anchor and for an unused node.
        var key: ExactText?
        var cost: Int64 = 0
        var younger: Int32
        var older: Int32
        var place: QueuePlace
        /// Counts the hits that do not pass through these queues.
        var tally: HitCounter?

        mutating func countTally() {
            for _ in 0..<(tally?.takeTally() ?? 0) { place.hit() }
        }
    }

    /// Nodes 0 and 1 are the queues' anchors. An anchor's `older` is the youngest node, its `younger` the oldest.
    private var nodes = [EvictionQueue.small, .main].map { queue in
        Node(key: nil, younger: Int32(queue.rawValue), older: Int32(queue.rawValue), place: QueuePlace(queue: queue))
    }
    private var free: [Int32] = []
    private(set) var totals = QueueTotals()

    /// Inserts at the young end of the queue.
    mutating func insert(_ key: ExactText, cost: Int, at place: QueuePlace, tally: HitCounter? = nil) -> ID {
        let node = Node(key: key, cost: Int64(cost), younger: 0, older: 0, place: place, tally: tally)
        let index: Int
        if let reused = free.popLast() {
            index = Int(reused)
            nodes[index] = node
        } else {
            index = nodes.count
            nodes.append(node)
        }
        totals.entries += 1
        totals.bytes += node.cost
        link(index)
        return index
    }

    mutating func hit(_ id: ID) {
        nodes[id].place.hit()
    }

    mutating func setTally(_ tally: HitCounter?, of id: ID) {
        nodes[id].countTally()
        nodes[id].tally = tally
    }

    mutating func setCost(_ cost: Int, of id: ID) {
        let change = Int64(cost) - nodes[id].cost
        nodes[id].cost += change
        totals.bytes += change
        if nodes[id].place.queue == .small { totals.smallBytes += change }
    }

    @discardableResult
    mutating func remove(_ id: ID) -> QueuePlace {
        unlink(id)
        totals.entries -= 1
        totals.bytes -= nodes[id].cost
        nodes[id].countTally()
        (nodes[id].key, nodes[id].tally) = (nil, nil)
        free.append(Int32(id))
        return nodes[id].place
    }

    func key(of id: ID) -> ExactText? { nodes[id].key }

    mutating func oldest(in queue: EvictionQueue) -> QueuedEntry<ID>? {
        let id = Int(nodes[Int(queue.rawValue)].younger)
        nodes[id].countTally()
        let node = nodes[id]
        return node.key.map { QueuedEntry(id: id, hash: $0.hashValue, cost: node.cost, place: node.place) }
    }

    mutating func move(_ entry: QueuedEntry<ID>, to place: QueuePlace) {
        unlink(entry.id)
        nodes[entry.id].place = place
        link(entry.id)
    }

    /// Links a node in at the young end of the queue of its place.
    private mutating func link(_ index: Int) {
        let queue = Int(nodes[index].place.queue.rawValue)
        let youngest = Int(nodes[queue].older)
        nodes[index].younger = Int32(queue)
        nodes[index].older = Int32(youngest)
        nodes[youngest].younger = Int32(index)
        nodes[queue].older = Int32(index)
        if nodes[index].place.queue == .small { totals.smallBytes += nodes[index].cost }
    }

    private mutating func unlink(_ index: Int) {
        let (younger, older) = (nodes[index].younger, nodes[index].older)
        nodes[Int(younger)].older = older
        nodes[Int(older)].younger = younger
        if nodes[index].place.queue == .small { totals.smallBytes -= nodes[index].cost }
    }
}
