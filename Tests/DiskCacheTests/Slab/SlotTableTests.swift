import Primitives
import TestSupport
import Testing

@testable import DiskCache

@Suite("The table of slots")
struct SlotTableTests {
    private static func slot(_ number: Int) -> Slot {
        let slotClass = SlotClass(holding: 1000)
        let (extent, index) = number.quotientAndRemainder(dividingBy: slotClass.slotsPerExtent)
        return Slot(extent: extent, index: index, slotClass: slotClass)
    }

    private static func hash(_ number: Int) -> Int { ExactText("key \(number)").hashValue }

    @Test("The table finds inserted slots after it has grown, and forgets few of them within its limit")
    func growth() {
        let table = SlotTable(memoryLimit: 1 << 20)
        #expect(table.memoryBytes == 0)
        // The keys fill five eighths of the cells.
        let count = (1 << 17) * 5 / 8
        for number in 0..<count {
            let hash = Self.hash(number)
            table.insert(hash, at: Self.slot(number), ticket: table.ticket(for: hash))
        }
        #expect(table.memoryBytes == 1 << 20)
        var (found, wrong) = (0, 0)
        for number in 0..<count {
            guard let slot = table.find(Self.hash(number))?.slot else { continue }
            if slot == Self.slot(number) { found += 1 } else { wrong += 1 }
        }
        #expect(found > count * 94 / 100)
        #expect(wrong < count / 1000)
        let strangers = (count..<2 * count).filter { table.find(Self.hash($0)) != nil }.count
        #expect(strangers < count / 200)
    }

    @Test("The table stays within its memory limit, because new slots replace old slots")
    func limit() {
        let table = SlotTable(memoryLimit: 64 << 10)
        for number in 0..<100_000 {
            let hash = Self.hash(number)
            table.insert(hash, at: Self.slot(number), ticket: table.ticket(for: hash))
            #expect(table.find(hash)?.slot == Self.slot(number))
        }
        #expect(table.memoryBytes == 64 << 10)
        table.empty(memoryLimit: 0)
        #expect(table.memoryBytes == 0)
        let hash = Self.hash(1)
        table.insert(hash, at: Self.slot(1), ticket: table.ticket(for: hash))
        #expect(table.find(hash) == nil)
    }

    @Test("A ticket taken before the removal of its hash inserts no slot into the table, and is no longer current")
    func tickets() throws {
        let table = SlotTable(memoryLimit: 1 << 20)
        let hash = Self.hash(1)
        let early = table.ticket(for: hash)
        table.remove(hash)
        table.insert(hash, at: Self.slot(1), ticket: early)
        #expect(table.find(hash) == nil)
        table.insert(hash, at: Self.slot(1), ticket: table.ticket(for: hash))
        let found = try #require(table.find(hash))
        #expect(table.isCurrent(found.ticket, for: hash))
        table.remove(hash)
        #expect(!table.isCurrent(found.ticket, for: hash))
        #expect(table.find(hash) == nil)
        table.insert(hash, at: Self.slot(1), ticket: table.ticket(for: hash))
        let ticket = table.ticket(for: hash)
        table.empty()
        #expect(table.find(hash) == nil)
        #expect(!table.isCurrent(ticket, for: hash))
    }
}
