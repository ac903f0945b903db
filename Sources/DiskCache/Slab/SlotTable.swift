// Invariants of this file
//
// - What is found for a key is where its body is as of the last commit, or of another key: whoever reads there looks at
//   the key. What a commit changes about an entry is taken out before that is acknowledged, and what was read before
//   does not come in after it (``SlotTicket``).
// - It is a cache: what is not found is looked up in the index.

import Primitives

/// Where small bodies are in the slab, by the hashes of their keys: what spares a hit on disk the index.
///
/// Cells of eight bytes in buckets of eight, a cache line each, split into shards by the hash so that threads seldom
/// meet. A cell holds the slot and what of the hash its bucket does not say; a full bucket forgets one of its own. It
/// is filled by what is read, and grows with it up to its limit.
final class SlotTable: Sendable {
    private final class LockedShard: Sendable {
        let state = Locked(Shard())
    }

    private let shards = (0..<16).map { _ in LockedShard() }
    private let limit: Locked<Int>

    /// - Parameter memoryLimit: the most bytes that it takes.
    init(memoryLimit: Int) {
        limit = Locked(memoryLimit)
    }

    /// Where the body of a key may be, and what says later whether that is still so; `nil` when nobody knows.
    func find(_ hash: Int) -> (slot: Slot, ticket: SlotTicket)? {
        shard(hash).state.withLock { shard in
            shard.find(Self.spread(hash)).map { ($0, SlotTicket(changes: shard.changes)) }
        }
    }

    /// Permission to ``insert(_:at:ticket:)`` what is about to be read. Take it *before* reading.
    func ticket(for hash: Int) -> SlotTicket {
        SlotTicket(changes: shard(hash).state.withLock { $0.changes })
    }

    /// Whether nothing has changed since the ticket was taken: about the key, or a few others.
    func isCurrent(_ ticket: SlotTicket, for hash: Int) -> Bool {
        shard(hash).state.withLock { $0.changes } == ticket.changes
    }

    /// Says where the body of a key is.
    func insert(_ hash: Int, at slot: Slot, ticket: SlotTicket) {
        let limit = limit.withLock { $0 } / shards.count
        shard(hash).state.withLock { shard in
            if shard.changes == ticket.changes { shard.insert(Self.spread(hash), at: slot, limit: limit) }
        }
    }

    /// Forgets where the body of a key is, and what is about to be inserted of it. After a commit, before it is
    /// acknowledged.
    func remove(_ hash: Int) {
        shard(hash).state.withLock { $0.remove(Self.spread(hash)) }
    }

    /// Forgets everything, and changes how much it may take.
    func empty(memoryLimit: Int? = nil) {
        if let memoryLimit { limit.withLock { $0 = memoryLimit } }
        for shard in shards { shard.state.withLock { $0.empty() } }
    }

    /// The memory that it takes.
    var memoryBytes: Int { shards.reduce(0) { $0 + $1.state.withLock { $0.memoryBytes } } }

    private func shard(_ hash: Int) -> LockedShard { shards[hash & 15] }

    /// The bits of a hash that the shard does not say.
    private static func spread(_ hash: Int) -> UInt64 { UInt64(UInt(bitPattern: hash)) >> 4 }
}

/// What a reader holds from before it reads until it inserts, or believes what it has read; see ``SlotTable``.
struct SlotTicket: Sendable {
    fileprivate let changes: UInt64
}

/// The part of the table that one lock guards.
private struct Shard {
    /// In a bucket.
    private static let cellCount = 8
    /// The fewest buckets: 2 to this power. Of a hash these are the lowest bits, and a cell has those above them.
    private static let leastBits = 4
    /// In a cell, beside the slot.
    private static let markBits = 24
    private static let slotBits = 40

    /// 0, or the mark above the slot's code and 1.
    private var cells: [UInt64] = []
    /// Of a hash, those that say in which bucket it is.
    private var bucketBits = Shard.leastBits
    private var count = 0
    /// How often something was removed.
    private(set) var changes: UInt64 = 0

    var memoryBytes: Int { cells.count * MemoryLayout<UInt64>.stride }

    func find(_ hash: UInt64) -> Slot? {
        guard !cells.isEmpty else { return nil }
        let mark = Self.mark(hash)
        for index in bucket(of: hash) where cells[index] >> Self.slotBits == mark && cells[index] != 0 {
            return Slot(code: Int64(cells[index] & (1 << Self.slotBits - 1)) - 1)
        }
        return nil
    }

    mutating func insert(_ hash: UInt64, at slot: Slot, limit: Int) {
        let code = UInt64(slot.code) + 1
        // Of a slab that is larger than 256 GiB, the end is left to the index.
        guard code < 1 << Self.slotBits else { return }
        fit(limit)
        guard !cells.isEmpty else { return }
        let bucket = bucket(of: hash)
        let mark = Self.mark(hash)
        let target =
            bucket.first { cells[$0] != 0 && cells[$0] >> Self.slotBits == mark }
            ?? bucket.first { cells[$0] == 0 } ?? bucket.lowerBound + Int(changes &+ code) % Self.cellCount
        if cells[target] == 0 { count += 1 }
        cells[target] = mark << Self.slotBits | code
    }

    mutating func remove(_ hash: UInt64) {
        changes += 1
        guard !cells.isEmpty else { return }
        let mark = Self.mark(hash)
        for index in bucket(of: hash) where cells[index] != 0 && cells[index] >> Self.slotBits == mark {
            cells[index] = 0
            count -= 1
        }
    }

    mutating func empty() {
        changes += 1
        (cells, bucketBits, count) = ([], Self.leastBits, 0)
    }

    /// Makes the table twice as large when many buckets are full, if it may be.
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
            // The next bit of the hash says to which of two.
            cells[cell & bit == 0 ? index : index + old.count] = cell
        }
    }

    private func bucket(of hash: UInt64) -> Range<Int> {
        let start = Int(hash & (1 << UInt64(bucketBits) - 1)) * Self.cellCount
        return start..<start + Self.cellCount
    }

    private static func mark(_ hash: UInt64) -> UInt64 { hash >> UInt64(leastBits) & (1 << UInt64(markBits) - 1) }
}
