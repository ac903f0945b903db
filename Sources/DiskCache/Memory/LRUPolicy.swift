/// Least recently used goes first. Every operation is O(1).
///
/// A doubly linked ring in an array: the links are indices, node 0 is its fixed point, what follows node 0 was used
/// last, and what precedes it is the next victim.
struct LRUPolicy<Key: Hashable & Sendable>: EvictionPolicy {
    private struct Node {
        var key: Key?
        var previous: Int
        var next: Int
    }

    private var nodes = [Node(key: nil, previous: 0, next: 0)]
    /// Nodes that are not in the ring.
    private var free: [Int] = []

    init() {}

    mutating func insert(_ key: Key, cost: Int) -> Slot {
        let slot: Int
        if let reused = free.popLast() {
            slot = reused
            nodes[slot].key = key
        } else {
            slot = nodes.count
            nodes.append(Node(key: key, previous: 0, next: 0))
        }
        link(slot)
        return slot
    }

    mutating func hit(_ slot: Slot) {
        guard nodes[0].next != slot else { return }
        unlink(slot)
        link(slot)
    }

    mutating func remove(_ slot: Slot) {
        unlink(slot)
        nodes[slot].key = nil
        free.append(slot)
    }

    mutating func victim() -> Key? {
        let slot = nodes[0].previous
        guard slot != 0 else { return nil }
        let key = nodes[slot].key
        remove(slot)
        return key
    }

    /// Puts a node behind node 0.
    private mutating func link(_ slot: Int) {
        let first = nodes[0].next
        nodes[slot].previous = 0
        nodes[slot].next = first
        nodes[first].previous = slot
        nodes[0].next = slot
    }

    private mutating func unlink(_ slot: Int) {
        let (previous, next) = (nodes[slot].previous, nodes[slot].next)
        nodes[previous].next = next
        nodes[next].previous = previous
    }
}
