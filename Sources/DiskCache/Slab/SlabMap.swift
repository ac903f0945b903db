// Invariants of this file
//
// - A slot that a committed row names is never given to another: what a transaction frees can be given out again once
//   that is committed, not before.
// - The table `extents` says what is used as of the same transaction as the rows that use it: nothing is ever lost or
//   used twice, whenever the process is killed, and nothing has to be searched at a start.

import Foundation
import GRDB

/// Which slots of the slab are used. Touched by the writer's thread alone; what a transaction did is taken back by
/// ``takeBack(_:)`` and ``keep(_:)``, last first.
final class SlabMap {
    /// Extents, by number.
    private var extents: [Extent] = []
    /// Those with free slots, by class; the last is filled first.
    private var open = [[Int]](repeating: [], count: SlotClass.count)
    /// Those that belong to no class.
    private var unused: [Int] = []
    /// What the transaction has freed.
    private var freed: [Slot] = []
    /// The extents that the transaction has changed.
    private var changed: Set<Int> = []
    /// Those that have become empty and may still take room on disk.
    private var emptied: [Int] = []
    /// What nobody fills meanwhile, see ``SlabCompaction``.
    private(set) var draining: Int?
    /// How many bytes the free slots take on disk that were used before: only bodies of their sizes can have them.
    private(set) var slackBytes: Int64 = 0

    /// What the index says. Throws when it says what cannot be.
    init(_ db: Database) throws {
        for row in try Row.fetchAll(db, sql: "SELECT number, class, written, used FROM extents ORDER BY number") {
            let (number, code): (Int, Int) = (row[0], row[1])
            guard number >= extents.count, number < 1 << 24, let slotClass = SlotClass(number: code),
                let extent = Extent(slotClass, writtenCount: row[2], used: row[3])
            else { throw DiskCacheError.index(code: 11, message: "an extent that cannot be") }
            while extents.count < number { addUnused() }
            extents.append(extent)
            slackBytes += extent.slackBytes
            list(number)
        }
        // A process that was killed may not have come to give back what it had emptied.
        emptied = unused
    }

    // MARK: - Taking and freeing

    /// A free slot for so many bytes, which is used from now on.
    func take(for length: Int) -> Slot {
        let slotClass = SlotClass(holding: length)
        let number = openExtent(of: slotClass)
        let index = change(number) { $0.takeFirst() }
        return Slot(extent: number, index: index, slotClass: slotClass)
    }

    /// Undoes ``take(for:)``.
    func takeBack(_ slot: Slot) { remove(slot) }

    /// Frees a slot, once this is committed; whether it was used, which a slot that a sound row names always is.
    func free(_ slot: Slot) -> Bool {
        guard isUsed(slot) else { return false }
        freed.append(slot)
        changed.insert(slot.extent)
        return true
    }

    /// Undoes ``free(_:)``, of the last one that was freed.
    func keep(_ slot: Slot) {
        precondition(freed.popLast() == slot, "what is undone is what was done last")
    }

    /// Writes what changed, in the transaction that changed it.
    func save(_ db: Database) throws {
        if changed.isEmpty { return }
        var images: [Int: Extent] = [:]
        for number in changed where extents.indices.contains(number) { images[number] = extents[number] }
        for slot in freed { images[slot.extent]?.remove(slot.index) }
        for (number, extent) in images {
            try Self.save(extent, number: number, db)
        }
    }

    /// Writes what an extent is.
    static func save(_ extent: Extent, number: Int, _ db: Database) throws {
        if let slotClass = extent.slotClass, extent.count > 0 {
            try db.cachedStatement(sql: "REPLACE INTO extents VALUES (?, ?, ?, ?)").execute(
                arguments: [number, slotClass.number, extent.writtenCount, extent.image])
        } else {
            try db.cachedStatement(sql: "DELETE FROM extents WHERE number = ?").execute(arguments: [number])
        }
    }

    /// What was saved is committed.
    func committed() {
        for slot in freed { remove(slot) }
        (freed, changed) = ([], [])
    }

    /// What was saved is not, and all that was done was undone.
    func rolledBack() {
        precondition(freed.isEmpty)
        changed = []
    }

    /// The extents that have become empty since this was last asked and are empty still, by where they are in the file.
    func takeEmptied() -> [Range<Int64>] {
        defer { emptied = [] }
        let length = Int64(Slot.extentBytes)
        return Set(emptied).filter { extents[$0].slotClass == nil }.sorted()
            .map { Int64($0) * length..<Int64($0 + 1) * length }
    }

    // MARK: - Looking

    /// Where the last extent ends, in bytes: nothing behind it is of use.
    var end: Int64 { Int64(extents.count) * Int64(Slot.extentBytes) }

    /// How many slots are used.
    var usedCount: Int { extents.reduce(0) { $0 + $1.count } }

    /// Whether a slot is used, as far as rows go that are committed or of this transaction.
    func isUsed(_ slot: Slot) -> Bool {
        extents.indices.contains(slot.extent) && extents[slot.extent].slotClass == slot.slotClass
            && extents[slot.extent].isUsed(slot.index)
    }

    /// The used slots of an extent, at most `limit`.
    func used(in number: Int, limit: Int) -> [Slot] {
        guard let slotClass = extents[number].slotClass else { return [] }
        let freed = Set(freed)
        return (0..<extents[number].writtenCount).lazy.filter { self.extents[number].isUsed($0) }
            .map { Slot(extent: number, index: $0, slotClass: slotClass) }
            .filter { !freed.contains($0) }.prefix(limit).map { $0 }
    }

    // MARK: - Draining

    /// Chooses the extent that is to be emptied: of those whose class has room for what is in them elsewhere, the one
    /// with the fewest bytes. `nil` when there is none.
    ///
    /// - Parameter stuck: extents that cannot be emptied.
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

    /// Lets it be filled again, or forgets it when it is empty.
    func endDraining() {
        guard let number = draining else { return }
        draining = nil
        list(number)
    }

    // MARK: - Steps

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

    private func remove(_ slot: Slot) {
        change(slot.extent) { $0.remove(slot.index) }
        if extents[slot.extent].count == 0 {
            if let slotClass = extents[slot.extent].slotClass, extents[slot.extent].isListed {
                open[slotClass.number].removeAll { $0 == slot.extent }
            }
            slackBytes -= extents[slot.extent].slackBytes
            extents[slot.extent] = Extent(nil)
            unused.append(slot.extent)
            emptied.append(slot.extent)
            if draining == slot.extent { draining = nil }
        } else {
            list(slot.extent)
        }
    }

    @discardableResult
    private func change<Value>(_ number: Int, _ body: (inout Extent) -> Value) -> Value {
        changed.insert(number)
        slackBytes -= extents[number].slackBytes
        defer { slackBytes += extents[number].slackBytes }
        return body(&extents[number])
    }
}
