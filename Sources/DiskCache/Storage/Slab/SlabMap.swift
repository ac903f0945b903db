// Invariants: a slot that a committed row names is never given to another body. A freed slot is in use until the commit
// that frees it. The table `extents` and the rows that use its slots change in one transaction, so a kill neither loses
// a slot nor uses it twice, and a start need not search for used slots.

import Foundation
import GRDB

/// The used and free slots, for the writer's thread. ``takeBack(_:)`` undoes the last take, ``keep(_:)`` the last free.
final class SlabMap {
    private var extents: [Extent] = []
    /// The extents with free slots, by class. The last extent of each list is filled first.
    private var open = [[Int]](repeating: [], count: SlotClass.count)
    /// The extents that are not divided into slots.
    private var unused: [Int] = []
    /// The slots that the running transaction has freed, and the extents that it has changed.
    private var freed: [Slot] = []
    private var changed: Set<Int> = []
    /// The extents that have become empty and may still take room on disk.
    private var emptied: [Int] = []
    /// The extent that ``SlabCompaction`` is emptying. No new body goes there.
    private(set) var draining: Int?
    /// The disk space of slots that were used before and are free now. Only bodies of the same slot size can reuse it.
    private(set) var slackBytes: Int64 = 0

    /// Throws ``DiskCacheError/index(code:message:)`` when the table `extents` holds impossible values.
    init(_ db: Database) throws {
        for row in try Row.fetchAll(db, sql: "SELECT number, class, written, used FROM extents ORDER BY number") {
            let (number, code): (Int, Int) = (row[0], row[1])
            guard number >= extents.count, number < 1 << 24, let slotClass = SlotClass(number: code),
                let extent = Extent(slotClass, writtenCount: row[2], used: row[3])
            else { throw DiskCacheError.index(code: 11, message: "an invalid extent") }
            while extents.count < number { addUnused() }
            extents.append(extent)
            slackBytes += extent.slackBytes
            list(number)
        }
        // A process that was killed may have emptied extents without giving their blocks back.
        emptied = unused
    }

    func take(for length: Int) -> Slot {
        let slotClass = SlotClass(holding: length)
        let number = openExtent(of: slotClass)
        let index = change(number) { $0.takeFirst() }
        return Slot(extent: number, index: index, slotClass: slotClass)
    }

    func takeBack(_ slot: Slot) {
        let number = slot.extent
        change(number) { $0.remove(slot.index) }
        guard extents[number].count == 0 else { return list(number) }
        if extents[number].isListed { open[slot.slotClass.number].removeAll { $0 == number } }
        slackBytes -= extents[number].slackBytes
        extents[number] = Extent(nil)
        unused.append(number)
        emptied.append(number)
        if draining == number { draining = nil }
    }

    /// Marks a slot as free from the next commit on. `false`: it is not in use, so the row that names it is damaged.
    func free(_ slot: Slot) -> Bool {
        guard isUsed(slot) else { return false }
        freed.append(slot)
        changed.insert(slot.extent)
        return true
    }

    func keep(_ slot: Slot) {
        precondition(freed.popLast() == slot, "only the last free(_:) can be undone")
    }

    /// Writes the changed extents to the table, inside the transaction that changed them.
    func save(_ db: Database) throws {
        if changed.isEmpty { return }
        var images: [Int: Extent] = [:]
        for number in changed where extents.indices.contains(number) { images[number] = extents[number] }
        for slot in freed { images[slot.extent]?.remove(slot.index) }
        for (number, extent) in images { try Self.save(extent, number: number, db) }
    }

    private static func save(_ extent: Extent, number: Int, _ db: Database) throws {
        if let slotClass = extent.slotClass, extent.count > 0 {
            try db.cachedStatement(sql: "REPLACE INTO extents VALUES (?, ?, ?, ?)").execute(
                arguments: [number, slotClass.number, extent.writtenCount, extent.image])
        } else {
            try db.cachedStatement(sql: "DELETE FROM extents WHERE number = ?").execute(arguments: [number])
        }
    }

    func committed() {
        for slot in freed { takeBack(slot) }
        (freed, changed) = ([], [])
    }

    /// Called after the journal has undone each step.
    func rolledBack() {
        precondition(freed.isEmpty)
        changed = []
    }

    /// The extents that have become empty since the last call and are still empty, as ranges of bytes.
    func takeEmptied() -> [Range<Int64>] {
        defer { emptied = [] }
        let length = Int64(Slot.extentBytes)
        return Set(emptied).filter { extents[$0].slotClass == nil }.sorted()
            .map { Int64($0) * length..<Int64($0 + 1) * length }
    }

    /// The end of the last extent, in bytes. The file holds no body behind it.
    var end: Int64 { Int64(extents.count) * Int64(Slot.extentBytes) }
    var usedCount: Int { extents.reduce(0) { $0 + $1.count } }

    func isUsed(_ slot: Slot) -> Bool {
        extents.indices.contains(slot.extent) && extents[slot.extent].slotClass == slot.slotClass
            && extents[slot.extent].isUsed(slot.index)
    }

    /// Leaves out the slots that the running transaction has freed.
    func used(in number: Int, limit: Int) -> [Slot] {
        guard let slotClass = extents[number].slotClass else { return [] }
        let freed = Set(freed)
        return (0..<extents[number].writtenCount).lazy.filter { self.extents[number].isUsed($0) }
            .map { Slot(extent: number, index: $0, slotClass: slotClass) }
            .filter { !freed.contains($0) }.prefix(limit).map { $0 }
    }

    /// Returns the extent that is being emptied, or else chooses one: of the extents with free slots, and with bodies
    /// that fit into other extents of their class, the extent with the fewest used bytes. Never chooses a `stuck`
    /// extent.
    @discardableResult
    func beginDraining(except stuck: Set<Int>) -> Int? {
        if let draining { return draining }
        var room = [Int](repeating: 0, count: SlotClass.count)
        for extent in extents { if let slotClass = extent.slotClass { room[slotClass.number] += extent.freeCount } }
        let candidates = extents.indices.filter { number in
            let extent = extents[number]
            guard let slotClass = extent.slotClass, extent.slackBytes > 0, !stuck.contains(number) else { return false }
            return room[slotClass.number] - extent.freeCount >= extent.count
        }
        draining = candidates.min { extents[$0].usedBytes < extents[$1].usedBytes }
        return draining
    }

    /// Stops emptying the extent, so that new bodies may fill it again.
    func endDraining() {
        guard let number = draining else { return }
        draining = nil
        list(number)
    }

    private func openExtent(of slotClass: SlotClass) -> Int {
        while let number = open[slotClass.number].last {
            if extents[number].slotClass == slotClass, extents[number].freeCount > 0, number != draining {
                return number
            }
            open[slotClass.number].removeLast()
            extents[number].isListed = false
        }
        if unused.isEmpty { addUnused() }
        let number = unused.removeLast()
        extents[number] = Extent(slotClass)
        list(number)
        return number
    }

    private func addUnused() {
        extents.append(Extent(nil))
        unused.append(extents.count - 1)
    }

    private func list(_ number: Int) {
        guard let slotClass = extents[number].slotClass, extents[number].freeCount > 0, !extents[number].isListed,
            number != draining
        else { return }
        extents[number].isListed = true
        open[slotClass.number].append(number)
    }

    @discardableResult
    private func change<Value>(_ number: Int, _ body: (inout Extent) -> Value) -> Value {
        changed.insert(number)
        slackBytes -= extents[number].slackBytes
        defer { slackBytes += extents[number].slackBytes }
        return body(&extents[number])
    }

    /// Reads the table `extents`. If its values are impossible, calls `onDamage` and rebuilds the table from the rows.
    static func load(_ db: Database, onDamage: () -> Void) throws -> SlabMap {
        do {
            return try SlabMap(db)
        } catch DiskCacheError.index {
            onDamage()
            try db.inTransaction(.immediate) {
                try rebuild(db)
                return .commit
            }
            return try SlabMap(db)
        }
    }

    /// When two rows' slots conflict, the row with the higher id loses its slot. The scrubber removes its entry.
    private static func rebuild(_ db: Database) throws {
        try db.execute(sql: "DELETE FROM extents")
        var extents: [Int: Extent] = [:]
        for row in try Row.fetchAll(db, sql: "SELECT id, slot FROM entries WHERE slot IS NOT NULL ORDER BY id") {
            let slot = Slot(code: row[1])
            var extent = slot.flatMap { extents[$0.extent] ?? Extent($0.slotClass) }
            if let slot, extent?.slotClass == slot.slotClass, extent?.take(slot.index) == true {
                extents[slot.extent] = extent
            } else {
                try db.execute(sql: "UPDATE entries SET slot = NULL WHERE id = ?", arguments: [row[0] as Int64])
            }
        }
        for (number, extent) in extents { try save(extent, number: number, db) }
    }
}

/// A part of the slab (``Slot/extentBytes`` long) that is divided into slots of equal size, with a map of used slots.
struct Extent {
    /// `nil`: the extent is not divided and holds no body.
    let slotClass: SlotClass?
    /// One bit per slot; 1 means used.
    private var words: [UInt64]
    private(set) var count = 0
    /// The number of slots, counted from the first, that were ever used. Slots behind them take no room on disk.
    private(set) var writtenCount = 0
    /// The words before this index have no free slot.
    private var firstOpenWord = 0
    /// Whether ``SlabMap`` lists this extent among the extents with free slots. Only the map reads and sets it.
    var isListed = false

    init(_ slotClass: SlotClass?) {
        self.slotClass = slotClass
        words = [UInt64](repeating: 0, count: ((slotClass?.slotsPerExtent ?? 0) + 63) / 64)
    }

    /// `nil` when `writtenCount` exceeds the number of slots, or a used slot lies beyond `writtenCount`.
    init?(_ slotClass: SlotClass, writtenCount: Int, used image: Data) {
        self.init(slotClass)
        guard 0...capacity ~= writtenCount else { return nil }
        self.writtenCount = writtenCount
        let image = [UInt8](image)
        for index in 0..<image.count * 8 where image[index / 8] & 1 << (index % 8) != 0 {
            guard index < writtenCount else { return nil }
            words[index / 64] |= 1 << UInt64(index % 64)
            count += 1
        }
    }

    /// The bits as stored: the lowest bit of the first byte is the first slot; slots never used are left out.
    var image: Data {
        Data((0..<(writtenCount + 7) / 8).map { UInt8(truncatingIfNeeded: words[$0 / 8] >> UInt64($0 % 8 * 8)) })
    }

    private var capacity: Int { slotClass?.slotsPerExtent ?? 0 }
    var freeCount: Int { capacity - count }
    var usedBytes: Int { count * (slotClass?.size ?? 0) }
    var slackBytes: Int64 { Int64((writtenCount - count) * (slotClass?.size ?? 0)) }

    func isUsed(_ index: Int) -> Bool { index < capacity && words[index / 64] & 1 << UInt64(index % 64) != 0 }

    /// The extent must have a free slot.
    mutating func takeFirst() -> Int {
        while words[firstOpenWord] == .max { firstOpenWord += 1 }
        let index = firstOpenWord * 64 + (~words[firstOpenWord]).trailingZeroBitCount
        let isTaken = take(index)
        precondition(isTaken, "no slot of the extent is free")
        return index
    }

    /// Returns `false` when the slot is in use or does not exist.
    mutating func take(_ index: Int) -> Bool {
        guard index < capacity, !isUsed(index) else { return false }
        words[index / 64] |= 1 << UInt64(index % 64)
        count += 1
        writtenCount = max(writtenCount, index + 1)
        return true
    }

    mutating func remove(_ index: Int) {
        guard isUsed(index) else { return }
        words[index / 64] &= ~(1 << UInt64(index % 64))
        count -= 1
        firstOpenWord = min(firstOpenWord, index / 64)
    }
}
