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
        guard let old = row.slot else { return }
        let slot = try keep(body, of: row.entry)
        free(old)
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
        free(old)
        try index.setSlot(of: row.id, slot)
        journal.onCommit { [slotTable = parts.slotTable] in slotTable.remove(ExactText(row.entry.key).hashValue) }
        try reach(.slotWritten)
    }

    private func take(for length: Int) -> Slot {
        let slot = slots.take(for: length)
        journal.onUndo { [slots] in slots.takeBack(slot) }
        return slot
    }
}
