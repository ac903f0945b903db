import Testing

@testable import DiskCache

@Suite("Slots")
struct SlotTests {
    @Test("A slot has the smallest size that holds a body, and wastes at most an eighth of a body over 256 bytes")
    func sizes() {
        var sizes: [Int] = []
        for length in 0...(1 << 20) + 4096 {
            let slotClass = SlotClass(holding: length)
            if sizes.last != slotClass.size { sizes.append(slotClass.size) }
            #expect(slotClass.size >= length && slotClass.size - length <= max(256 - length, length / 8))
            guard let smaller = SlotClass(number: slotClass.number - 1) else { continue }
            if smaller.size >= length { Issue.record("\(length) fits into \(smaller.size)") }
        }
        #expect(sizes == sizes.sorted())
        #expect(sizes.prefix(10) == [256, 288, 320, 352, 384, 416, 448, 480, 512, 576])
        #expect(sizes.allSatisfy { $0 % SlotClass.unit == 0 && $0 <= Slot.extentBytes })
    }

    @Test("A slot survives encoding as a number, and an invalid number decodes to no slot")
    func codes() throws {
        for length in [1, 256, 257, 1000, 1434, 16_384, 1 << 20] {
            let slotClass = SlotClass(holding: length)
            for extent in [0, 1, 70_000] {
                for index in [0, slotClass.slotsPerExtent - 1] {
                    let slot = Slot(extent: extent, index: index, slotClass: slotClass)
                    #expect(Slot(code: slot.code) == slot)
                    #expect(slot.offset + Int64(slotClass.size) <= Int64(extent + 1) * Int64(Slot.extentBytes))
                }
            }
            let behind = Slot(extent: 3, index: slotClass.slotsPerExtent, slotClass: slotClass)
            let found = Slot(code: behind.code)
            #expect(found == nil || found == Slot(extent: 4, index: 0, slotClass: slotClass))
        }
        #expect(Slot(code: -1) == nil)
        #expect(Slot(code: 1 << 7 + 5) == nil)
    }
}
