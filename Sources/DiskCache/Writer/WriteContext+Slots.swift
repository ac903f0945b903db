// Every crash point of what happens to slots inside a transaction. A slot that a row names is never written: whenever
// the process is killed, the rows and the table `extents` of the last commit name bodies that are as they were.
//
// | killed after | on disk | what the next start does |
// |---|---|---|
// | slotWritten, beforeCommit | a record in a slot that is free | nothing: it is written over |
// | afterCommit | the record, the row that names its slot, and the slot as used; what was replaced is in a free one | nothing |

import Primitives

extension WriteContext {
    /// Puts the body of an entry into a slot of its own.
    func keep(_ body: SharedBytes, of entry: Entry) throws -> Slot {
        let record = SlabRecord(of: entry, at: now)
        let slot = take(for: record.bytes.count + body.count)
        try parts.slab.write(record, body, in: slot)
        unsynced.wroteSlot()
        try reach(.slotWritten)
        return slot
    }

    /// Has the record of a body say again what the index says, in another slot.
    func rewrite(_ row: EntryRow, _ body: SharedBytes) throws {
        guard let old = row.slot else { return }
        let slot = try keep(body, of: row.entry)
        free(old)
        try index.setSlot(of: row.id, slot)
        journal.onCommit { [slotTable = parts.slotTable] in slotTable.remove(ExactText(row.entry.key).hashValue) }
    }

    /// The slot of an entry that is changed while its body stays: another, when what its record says is another now.
    func slot(of entry: Entry, as old: EntryRow) throws -> Slot? {
        guard let slot = old.slot, !SlabRecord.isSame(of: entry, old.entry),
            let body = try parts.slab.body(of: entry, in: slot)
        else { return old.slot }
        let new = try keep(body, of: entry)
        free(slot)
        return new
    }

    /// Gives up a slot; another may have it once this is durable.
    func free(_ slot: Slot) {
        if slots.free(slot) { journal.onUndo { [slots] in slots.keep(slot) } }
    }

    /// Puts a body into another slot of the same size.
    ///
    /// - Parameter content: what is in its slot.
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
