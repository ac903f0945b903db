// All crash points of the changes to slots inside a transaction. A slot that a row names is never written. So a kill at
// any time leaves the bodies intact that the rows and the table `extents` of the last commit name.
//
// | killed after | on disk | at the next start |
// |---|---|---|
// | slotWritten, beforeCommit | a record in a free slot | no action: the slot is overwritten later |
// | afterCommit | the record, its row, and the slot as used; the replaced record is in a free slot | no action |

import Primitives

extension WriteContext {
    func keep(_ body: SharedBytes, of entry: Entry) throws -> Slot {
        let record = SlabRecord(of: entry, at: now)
        let slot = take(for: record.bytes.count + body.count)
        try parts.slab.write(record, body, in: slot)
        unsynced.wroteSlot()
        try reach(.slotWritten)
        return slot
    }

    /// Rewrites the record of a body, in another slot, so that it agrees with the index again.
    func rewrite(_ row: EntryRow, _ body: SharedBytes) throws {
        try setSlot(of: row, keep(body, of: row.entry))
    }

    private func setSlot(of row: EntryRow, _ slot: Slot) throws {
        if let old = row.slot { free(old) }
        try index.setSlot(of: row.id, slot)
        journal.onCommit { [slotTable = parts.slotTable] in slotTable.remove(ExactText(row.entry.key).hashValue) }
    }

    /// The slot of an entry that changes while its body stays. If the record changes, too, the body gets a new slot.
    func slot(of entry: Entry, as old: EntryRow) throws -> Slot? {
        guard let slot = old.slot, !SlabRecord.isSame(of: entry, old.entry),
            let body = try parts.slab.body(of: entry, in: slot)
        else { return old.slot }
        let new = try keep(body, of: entry)
        free(slot)
        return new
    }

    /// Another body may take the slot once the transaction is durable.
    func free(_ slot: Slot) {
        if slots.free(slot) { journal.onUndo { [slots] in slots.keep(slot) } }
    }

    /// Copies a body to another slot of the same size. `content` has all bytes of the current slot.
    func move(_ row: EntryRow, _ content: SharedBytes) throws {
        guard let old = row.slot else { return }
        let slot = take(for: old.slotClass.size)
        try parts.slab.write(content, in: slot)
        unsynced.wroteSlot()
        try setSlot(of: row, slot)
        try reach(.slotWritten)
    }

    private func take(for length: Int) -> Slot {
        let slot = slots.take(for: length)
        journal.onUndo { [slots] in slots.takeBack(slot) }
        return slot
    }
}

/// Gives back the disk space of free slots, which bodies of other sizes cannot fill: moves all bodies out of an extent,
/// so that the extent becomes a hole. For the writer's thread.
final class SlabCompaction {
    /// The most bytes that free slots may take: half of the room that eviction keeps free below the limit.
    private let allowance: Int64
    /// The extents that cannot be emptied, because they hold a damaged body.
    private var stuck: Set<Int> = []
    /// ``SlabMap/slackBytes`` when no body could be moved. Compaction does not try again before that number changes.
    private var futileSlack: Int64?

    /// The most bodies that a transaction moves. Other operations wait behind that transaction.
    private static let stepLimit = 64

    init(headRoom: Int64) {
        allowance = headRoom / 2
    }

    /// Whether free slots take more than the allowance, which is 0 when the file system has too little room.
    func isWanted(_ slots: SlabMap, room: Int64) -> Bool {
        let slack = slots.slackBytes
        return slack > (room - slack < 0 ? 0 : allowance) && slack != futileSlack
    }

    func begins(_ slots: SlabMap) -> Bool {
        if slots.beginDraining(except: stuck) != nil { return true }
        futileSlack = slots.slackBytes
        return false
    }

    func step(_ context: WriteContext) throws {
        guard let number = context.slots.draining else { return }
        for slot in context.slots.used(in: number, limit: Self.stepLimit) {
            let content = try? context.parts.slab.content(of: slot)
            let key = content?.withUnsafeBytes { SlabRecordView($0).map { String(decoding: $0.key, as: UTF8.self) } }
            guard let content, let key = key ?? nil, let row = try? context.index.row(forKey: key), row.slot == slot
            else {
                // The scrubber rewrites a record that differs from the index, or removes its entry.
                stuck.insert(number)
                context.slots.endDraining()
                return
            }
            try context.move(row, content)
        }
    }

    func stepFailed(_ slots: SlabMap) {
        slots.endDraining()
        futileSlack = slots.slackBytes
    }
}
