import Primitives
import Synchronization

// Invariants: the slot found for a key holds the key's body as of the last commit, or another body, so a reader
// compares the key in the slot. After a commit and before its acknowledgement, the writer removes the changed keys, and
// voids the tickets of readers that read older rows (``SlotTicket``). For a missing key, a reader asks the index.

/// The slots of small bodies, by the hashes of their keys, so that a hit on disk needs no look-up in the index. Cells
/// of eight bytes form buckets of eight cells, a cache line each. The hash splits the table into shards, so that
/// threads seldom wait. An insertion into a full bucket overwrites another cell. The table grows up to its limit.
final class SlotTable: Sendable {
    private let shards = Sharded { Shard() }
    private let limit: Locked<Int>
    private let suspensions = Atomic<Int>(0)

    init(memoryLimit: Int) { limit = Locked(memoryLimit) }

    /// The slot that may hold the body of a key, and a ticket that tells later whether that is still true.
    func find(_ hash: Int) -> (slot: Slot, ticket: SlotTicket)? {
        shards[hash].withLock { shard in
            shard.find(Self.spread(hash)).map { ($0, SlotTicket(changes: shard.changes)) }
        }
    }

    /// Take the ticket for ``insert(_:at:ticket:)`` *before* reading the row.
    func ticket(for hash: Int) -> SlotTicket {
        SlotTicket(changes: shards[hash].withLock { $0.changes })
    }

    /// Each shard has one counter, so a change of another key of the shard also makes the ticket out of date.
    func isCurrent(_ ticket: SlotTicket, for hash: Int) -> Bool {
        shards[hash].withLock { $0.changes } == ticket.changes
    }

    /// Has no effect if the ticket is out of date.
    func insert(_ hash: Int, at slot: Slot, ticket: SlotTicket) {
        let limit = limit.withLock { $0 } / shards.all.count
        shards[hash].withLock { shard in
            guard shard.changes == ticket.changes, suspensions.load(ordering: .acquiring) == 0 else { return }
            shard.insert(Self.spread(hash), at: slot, limit: limit)
        }
    }

    /// See ``MemoryTier/suspendInsertions()``.
    func suspendInsertions() { suspensions.add(1, ordering: .sequentiallyConsistent) }
    func resumeInsertions() { suspensions.subtract(1, ordering: .releasing) }

    /// Removes a key and voids the ``SlotTicket``s of its shard. Call this after a commit, before the commit is
    /// acknowledged.
    func remove(_ hash: Int) {
        shards[hash].withLock { $0.remove(Self.spread(hash)) }
    }

    func empty(memoryLimit: Int? = nil) {
        if let memoryLimit { limit.withLock { $0 = memoryLimit } }
        for shard in shards.all { shard.withLock { $0.empty() } }
    }

    var memoryBytes: Int { shards.sum { $0.memoryBytes } }

    /// The bits of a hash that the choice of the shard does not use.
    private static func spread(_ hash: Int) -> UInt64 { UInt64(UInt(bitPattern: hash)) >> 4 }
}

struct SlotTicket: Sendable {
    fileprivate let changes: UInt64
}

private struct Shard {
    private static let cellCount = 8
    /// The least number of buckets is 2 to this power. A cell holds the bits of a hash above these.
    private static let leastBits = 4
    /// The bits of the hash in a cell, above the bits of the slot.
    private static let markBits = 24
    private static let slotBits = 40

    /// A free cell is 0. A used cell has bits of the hash, and below them, in its low bits, the slot's code plus 1.
    private var cells: [UInt64] = []
    /// The number of low bits of a hash that choose its bucket.
    private var bucketBits = Shard.leastBits
    private var count = 0
    private(set) var changes: UInt64 = 0
    var memoryBytes: Int { cells.count * MemoryLayout<UInt64>.stride }

    func find(_ hash: UInt64) -> Slot? {
        index(of: hash).flatMap { Slot(code: Int64(cells[$0] & (1 << Self.slotBits - 1)) - 1) }
    }

    private func index(of hash: UInt64) -> Int? {
        if cells.isEmpty { return nil }
        let mark = Self.mark(hash)
        return bucket(of: hash).first { cells[$0] != 0 && cells[$0] >> Self.slotBits == mark }
    }

    mutating func insert(_ hash: UInt64, at slot: Slot, limit: Int) {
        let code = UInt64(slot.code) + 1
        // A slot beyond the first 256 GiB of the slab does not fit into a cell. Its reader asks the index.
        guard code < 1 << Self.slotBits else { return }
        fit(limit)
        guard !cells.isEmpty else { return }
        let bucket = bucket(of: hash)
        let target =
            index(of: hash) ?? bucket.first { cells[$0] == 0 }
            ?? bucket.lowerBound + Int(changes &+ code) % Self.cellCount
        if cells[target] == 0 { count += 1 }
        cells[target] = Self.mark(hash) << Self.slotBits | code
    }

    mutating func remove(_ hash: UInt64) {
        changes += 1
        guard let index = index(of: hash) else { return }
        cells[index] = 0
        count -= 1
    }

    mutating func empty() {
        changes += 1
        (cells, bucketBits, count) = ([], Self.leastBits, 0)
    }

    /// Doubles the table when more than five eighths of the cells are used and the limit allows it.
    private mutating func fit(_ limit: Int) {
        if cells.isEmpty {
            let size = Self.cellCount << bucketBits
            if size * MemoryLayout<UInt64>.stride <= limit { cells = [UInt64](repeating: 0, count: size) }
            return
        }
        guard count * 8 > cells.count * 5, memoryBytes * 2 <= limit,
            bucketBits - Self.leastBits < Self.markBits - 8
        else { return }
        let old = cells
        let bit = UInt64(1) << UInt64(Self.slotBits + bucketBits - Self.leastBits)
        cells = [UInt64](repeating: 0, count: old.count * 2)
        bucketBits += 1
        for (index, cell) in old.enumerated() where cell != 0 {
            // The next bit of the hash chooses between the two new buckets.
            cells[cell & bit == 0 ? index : index + old.count] = cell
        }
    }

    private func bucket(of hash: UInt64) -> Range<Int> {
        let start = Int(hash & (1 << UInt64(bucketBits) - 1)) * Self.cellCount
        return start..<start + Self.cellCount
    }

    private static func mark(_ hash: UInt64) -> UInt64 { hash >> UInt64(leastBits) & (1 << UInt64(markBits) - 1) }
}
