import Foundation
import Primitives

/// The sparse file `bodies.slab` of small bodies, each in a ``Slot`` with a ``SlabRecord`` that names the entry; empty
/// extents have no blocks. A slot is written before its row is committed, and only while no committed row names it.
/// Each read compares the bytes with the digest, because the slot may have been reused since the row was read.
final class Slab: Sendable {
    /// A ``BodyFile`` so that ``FileSync`` can sync it.
    let file: BodyFile
    let path: String
    private let descriptor: FileDescriptor

    init(path: String) throws(DiskCacheError) {
        self.path = path
        descriptor = try FileDescriptor(opening: path, O_RDWR | O_CREAT | O_NOFOLLOW, mode: 0o600)
        file = BodyFile(descriptor, length: 0, path: path)
    }

    /// Reads the body of an entry and checks its digest. `agrees`: the ``SlabRecord`` in the slot agrees with the
    /// entry. `nil`: the slot holds only a part of the body, or another body. ``Lookup/onDisk`` only without `mayWait`.
    func body(
        of entry: Entry, in slot: Slot, mayWait: Bool
    ) throws(DiskCacheError) -> Lookup<(bytes: SharedBytes, agrees: Bool)?> {
        // The length comes from the index, and a damaged index may state any number.
        let headLength = SlabRecord.headLength
        guard let length = Int(exactly: entry.contentLength), 0...slot.slotClass.size - headLength ~= length
        else { return .found(nil) }
        let frame = UnsafeMutableRawBufferPointer.allocate(byteCount: slot.slotClass.size - length, alignment: 16)
        defer { frame.deallocate() }
        let head = UnsafeMutableRawBufferPointer(rebasing: frame[..<headLength])
        let tail = UnsafeMutableRawBufferPointer(rebasing: frame[headLength...])
        var (count, code) = (0, Int32(0))
        let bytes = SharedBytes(count: length) { body in
            count = read([head, body, tail], at: slot.offset, mayWait: mayWait)
            if count < 0 { code = errno }
        }
        // The file may end inside its last slot, so a read may return fewer bytes than the slot has.
        guard count >= headLength + length else {
            if !mayWait { return .onDisk }
            let error = DiskCacheError.fileSystem(operation: "read", path: path, errno: code)
            if count < 0, !error.isMissingFile { throw error }
            return .found(nil)
        }
        guard digest(of: bytes) == entry.digest else { return .found(nil) }
        let view = SlabRecordView(
            head: UnsafeRawBufferPointer(head),
            tail: UnsafeRawBufferPointer(rebasing: tail[..<(count - headLength - length)]))
        return .found((bytes, view?.agrees(with: entry) == true))
    }

    func body(of entry: Entry, in slot: Slot) throws(DiskCacheError) -> SharedBytes? {
        guard case .found(let body) = try body(of: entry, in: slot, mayWait: true) else { return nil }
        return body?.bytes
    }

    /// Reads a slot, without `mayWait` only bytes that are in memory. `count`: the bytes read. `nil`: none were read.
    func content(of slot: Slot, mayWait: Bool) -> (bytes: SharedBytes, count: Int)? {
        var count = 0
        let bytes = SharedBytes(count: slot.slotClass.size) { target in
            count =
                mayWait
                ? (try? descriptor.read(into: target, at: slot.offset, path: path)) ?? 0
                : CachedFile.read(descriptor.number, into: target, at: slot.offset)
        }
        return count > 0 ? (bytes, count) : nil
    }

    private func read(_ targets: [UnsafeMutableRawBufferPointer], at offset: Int64, mayWait: Bool) -> Int {
        if !mayWait { return CachedFile.read(descriptor.number, into: targets, at: offset) }
        var vectors = targets.map { iovec(iov_base: $0.baseAddress, iov_len: $0.count) }
        return retryingInterrupts { preadv(descriptor.number, &vectors, Int32(vectors.count), off_t(offset)) }
    }

    func content(of slot: Slot) throws(DiskCacheError) -> SharedBytes {
        try SharedBytes(count: slot.slotClass.size) { target throws(DiskCacheError) in
            let count = try descriptor.read(into: target, at: slot.offset, path: path)
            // Bytes behind the end of the file read as zeros, like a hole.
            UnsafeMutableRawBufferPointer(rebasing: target[count...]).initializeMemory(as: UInt8.self, repeating: 0)
        }
    }

    func write(_ record: SlabRecord, _ body: SharedBytes, in slot: Slot) throws(DiskCacheError) {
        let length = record.bytes.count + body.count
        precondition(length <= slot.slotClass.size, "a record is longer than its slot")
        let written = record.bytes.withUnsafeBytes { record in
            body.withUnsafeBytes { body in
                let head = UnsafeRawBufferPointer(rebasing: record[..<SlabRecord.headLength])
                let texts = UnsafeRawBufferPointer(rebasing: record[SlabRecord.headLength...])
                return write([head, body, texts], at: slot.offset)
            }
        }
        try check(written, length)
    }

    /// Writes the bytes that ``content(of:)`` read from another slot of the same size.
    func write(_ content: SharedBytes, in slot: Slot) throws(DiskCacheError) {
        try check(content.withUnsafeBytes { write([$0], at: slot.offset) }, content.count)
    }

    private func write(_ pieces: [UnsafeRawBufferPointer], at offset: Int64) -> Int {
        var vectors = pieces.map {
            iovec(iov_base: UnsafeMutableRawPointer(mutating: $0.baseAddress), iov_len: $0.count)
        }
        return retryingInterrupts { pwritev(descriptor.number, &vectors, Int32(vectors.count), off_t(offset)) }
    }

    private func check(_ written: Int, _ length: Int) throws(DiskCacheError) {
        guard written == length else { throw .system("write", path, written < 0 ? errno : ENOSPC) }
    }

    /// Cuts the file at `end`, because no row names a slot behind it. Call this before the first read.
    func cut(at end: Int64) {
        if let length = descriptor.status()?.identity.size, length > end { ftruncate(descriptor.number, off_t(end)) }
    }

    /// Gives the blocks of a range back, if the file system can do that. The range then reads as zeros.
    func erase(_ range: Range<Int64>) { FileHole.make(in: descriptor.number, range) }
}

/// The size of a slot. Eight sizes for each doubling, from 256 bytes on, let a body waste at most a ninth of its slot.
struct SlotClass: Hashable, Sendable {
    /// The smallest size has the number 0.
    let number: Int

    /// The class takes seven bits of ``Slot/code``.
    static let count = 1 << 7
    /// Each size is a multiple of these bytes.
    static let unit = 1 << unitBits
    private static let unitBits = 5
    private static let stepBits = 3

    init?(number: Int) {
        guard 0..<Self.count ~= number else { return nil }
        self.number = number
    }

    init(holding length: Int) {
        let length = max(length, Self.unit << Self.stepBits)
        let bits = Int.bitWidth - 1 - length.leadingZeroBitCount - Self.stepBits
        let steps = (length + (1 << bits) - 1) >> bits
        number = (bits - Self.unitBits) << Self.stepBits + steps - 1 << Self.stepBits
    }

    var slotsPerExtent: Int { Slot.extentBytes / size }
    var size: Int {
        let steps = 1 << Self.stepBits
        return (steps + number & (steps - 1)) << (number >> Self.stepBits + Self.unitBits)
    }
}

/// A place in the slab: one of the equal parts of an extent.
package struct Slot: Hashable, Sendable {
    let extent: Int
    let index: Int
    let slotClass: SlotClass

    /// The length of an extent: the longest body that goes into the slab, 1 MiB, fits with its ``SlabRecord``.
    static let extentBytes = 2 << 20

    /// The slot in the index: the offset in units of ``SlotClass/unit``, and the class in the lowest seven bits.
    var code: Int64 { offset / Int64(SlotClass.unit) * Int64(SlotClass.count) + Int64(slotClass.number) }
    var offset: Int64 { Int64(extent) * Int64(Self.extentBytes) + Int64(index * slotClass.size) }
}

extension Slot {
    init?(code: Int64) {
        guard code >= 0, let slotClass = SlotClass(number: Int(code) % SlotClass.count) else { return nil }
        let offset = Int(code) / SlotClass.count * SlotClass.unit
        let (extent, rest) = offset.quotientAndRemainder(dividingBy: Self.extentBytes)
        guard rest % slotClass.size == 0, rest + slotClass.size <= Self.extentBytes else { return nil }
        self.init(extent: extent, index: rest / slotClass.size, slotClass: slotClass)
    }
}

// Invariants: the slot found for a key holds the key's body as of the last commit, or another body, so a reader
// compares the key in the slot. After a commit and before its acknowledgement, the writer removes the changed keys, and
// voids the tickets of readers that read older rows (``SlotTicket``). For a missing key, a reader asks the index.

/// The slots of small bodies, by the hashes of their keys, so that a hit on disk needs no look-up in the index. Cells
/// of eight bytes form buckets of eight cells, a cache line each. The hash splits the table into shards, so that
/// threads seldom wait. An insertion into a full bucket overwrites another cell. The table grows up to its limit.
final class SlotTable: Sendable {
    private let shards = Sharded { Shard() }
    private let limit: Locked<Int>

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
            if shard.changes == ticket.changes { shard.insert(Self.spread(hash), at: slot, limit: limit) }
        }
    }

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
