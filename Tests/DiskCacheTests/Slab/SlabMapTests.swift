import GRDB
import Testing

@testable import DiskCache

@Suite("The map of the slab")
struct SlabMapTests {
    private let queue: DatabaseQueue

    init() throws {
        queue = try DatabaseQueue()
        try queue.write {
            try $0.execute(
                sql: """
                    CREATE TABLE extents (number INTEGER PRIMARY KEY, class INTEGER, written INTEGER, used BLOB);
                    CREATE TABLE entries (id INTEGER PRIMARY KEY, slot INTEGER);
                    """)
        }
    }

    private func load() throws -> SlabMap { try queue.read { try SlabMap($0) } }

    private func commit(_ map: SlabMap) throws {
        try queue.write { try map.save($0) }
        map.committed()
    }

    @Test("The map gives each slot to one body at a time, and a released slot only after the release is committed")
    func reuse() throws {
        let map = try load()
        let slots = (0..<5000).map { _ in map.take(for: 1000) }
        #expect(Set(slots).count == 5000)
        #expect(Set(slots.map(\.extent)).count == 3)
        try commit(map)
        #expect(map.free(slots[7]))
        #expect(map.take(for: 1000) != slots[7])
        try commit(map)
        #expect(map.take(for: 2000).extent != slots[7].extent)
        #expect(map.take(for: 1000) == slots[7])
    }

    @Test("After a restart the map of the slots has the state of the last commit")
    func restart() throws {
        let map = try load()
        var slots: [Slot] = []
        for _ in 0..<3000 { for length in [300, 1000, 16_000] { slots.append(map.take(for: length)) } }
        for slot in slots[..<100] { #expect(map.free(slot)) }
        try commit(map)
        let slackBytes = map.slackBytes
        let lost = map.take(for: 1000)
        #expect(map.free(slots[200]))
        let again = try load()
        #expect(again.usedCount == 8900)
        #expect(again.slackBytes == slackBytes)
        #expect(again.end == map.end)
        #expect(slots[100...].allSatisfy(again.isUsed))
        #expect(!slots[..<100].contains(where: again.isUsed))
        #expect(!again.isUsed(lost) || slots.contains(lost))
        // Without this row, a part of the slab belongs to no extent, and the next extent takes that part.
        try queue.write { try $0.execute(sql: "DELETE FROM extents WHERE number = 1") }
        let other = try load()
        #expect(other.take(for: 70_000).extent == 1)
    }

    @Test("When a transaction is undone, the map undoes takes and releases of slots in reverse order")
    func undo() throws {
        let map = try load()
        let first = map.take(for: 1000)
        try commit(map)
        let second = map.take(for: 1000)
        #expect(map.free(first))
        map.keep(first)
        map.takeBack(second)
        map.rolledBack()
        #expect(map.isUsed(first) && !map.isUsed(second))
        #expect(map.usedCount == 1)
        try commit(map)
        #expect(map.isUsed(first))
        #expect(try load().usedCount == 1)
    }

    @Test("An extent that has become empty is reported once, and can hold slots of another size from then on")
    func emptied() throws {
        let map = try load()
        let slots = (0..<10).map { _ in map.take(for: 100_000) }
        try commit(map)
        #expect(map.takeEmptied().isEmpty)
        for slot in slots { #expect(map.free(slot)) }
        #expect(map.takeEmptied().isEmpty)
        #expect(map.slackBytes == 0)
        try commit(map)
        #expect(map.takeEmptied() == [0..<Int64(Slot.extentBytes)])
        #expect(map.takeEmptied().isEmpty)
        #expect(map.slackBytes == 0)
        #expect(map.take(for: 500).extent == 0)
        #expect(try load().usedCount == 0)
    }

    @Test("The map counts the bytes of free slots that were used before")
    func slack() throws {
        let map = try load()
        let size = Int64(SlotClass(holding: 1000).size)
        let slots = (0..<100).map { _ in map.take(for: 1000) }
        #expect(map.slackBytes == 0)
        // Free slots behind the last used slot also count, because the file keeps their blocks.
        for slot in slots[40..<50] + slots[90...] { #expect(map.free(slot)) }
        try commit(map)
        #expect(map.slackBytes == 20 * size)
        #expect(try load().slackBytes == 20 * size)
        _ = map.take(for: 1000)
        #expect(map.slackBytes == 19 * size)
    }

    @Test("The emptiest extent is emptied and gets no new bodies, if the other extents have room for its bodies")
    func draining() throws {
        let map = try load()
        let perExtent = SlotClass(holding: 1000).slotsPerExtent
        let slots = (0..<3 * perExtent).map { _ in map.take(for: 1000) }
        try commit(map)
        #expect(map.beginDraining(except: []) == nil)
        for slot in slots where slot.extent == 1 ? slot.index % 3 > 0 : slot.index % 2 > 0 { #expect(map.free(slot)) }
        try commit(map)
        #expect(map.beginDraining(except: [1]) != 1)
        map.endDraining()
        #expect(map.beginDraining(except: []) == 1)
        let rest = map.used(in: 1, limit: .max)
        #expect(rest.count == slots.filter { $0.extent == 1 && $0.index % 3 == 0 }.count)
        for slot in rest {
            #expect(map.take(for: 1000).extent != 1)
            #expect(map.free(slot))
        }
        #expect(map.used(in: 1, limit: .max).isEmpty)
        try commit(map)
        #expect(map.draining == nil)
        #expect(map.takeEmptied() == [Int64(Slot.extentBytes)..<Int64(2 * Slot.extentBytes)])
    }

    @Test("A request to free an unused slot is refused, because a damaged row may name any slot")
    func unused() throws {
        let map = try load()
        let slot = map.take(for: 1000)
        let other = Slot(extent: 0, index: 5, slotClass: SlotClass(holding: 5000))
        for wrong in [other, Slot(extent: 9, index: 0, slotClass: slot.slotClass)] { #expect(!map.free(wrong)) }
        #expect(!map.free(Slot(extent: 0, index: 1, slotClass: slot.slotClass)))
        try commit(map)
        #expect(map.isUsed(slot) && map.usedCount == 1)
    }

    @Test("A damaged map is rebuilt from the index, and a row loses its slot if another row has the same slot")
    func damaged() throws {
        let slots = (0..<3).map { Slot(extent: 4, index: $0, slotClass: SlotClass(holding: 1000)) }
        let clash = Slot(extent: 4, index: 1, slotClass: SlotClass(holding: 9000))
        for (number, code, used) in [(0, 128, "01"), (0, -1, "01"), (1 << 30, 3, "01"), (0, 96, "0f")] {
            try queue.write { db in
                try db.execute(sql: "DELETE FROM extents; DELETE FROM entries")
                try db.execute(sql: "INSERT INTO extents VALUES (\(number), \(code), 1, x'\(used)')")
                for (id, slot) in (slots + [slots[0], clash]).enumerated() {
                    try db.execute(sql: "INSERT INTO entries VALUES (\(id), \(slot.code))")
                }
                try db.execute(sql: "INSERT INTO entries VALUES (9, -7), (10, NULL)")
            }
            #expect(throws: DiskCacheError.self) { try load() }
            var isDamaged = false
            let map = try queue.writeWithoutTransaction { try SlabMap.load($0) { isDamaged = true } }
            #expect(isDamaged)
            #expect(map.usedCount == 3)
            #expect(slots.allSatisfy(map.isUsed))
            #expect(try load().usedCount == 3)
            let left = try queue.read { try Int.fetchAll($0, sql: "SELECT id FROM entries WHERE slot IS NOT NULL") }
            #expect(left == [0, 1, 2])
        }
    }
}
