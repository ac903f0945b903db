/// The size of a slot. Eight sizes for each doubling, from 256 bytes on, let a body waste at most a ninth of its slot.
struct SlotClass: Hashable, Sendable {
    /// The smallest size is 0.
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

    var size: Int {
        let steps = 1 << Self.stepBits
        return (steps + number & (steps - 1)) << (number >> Self.stepBits + Self.unitBits)
    }

    var slotsPerExtent: Int { Slot.extentBytes / size }
}

/// A place in the slab: one of the equal parts of an extent.
package struct Slot: Hashable, Sendable {
    let extent: Int
    let index: Int
    let slotClass: SlotClass

    /// The longest body that goes into the slab, 1 MiB, fits with its record.
    static let extentBytes = 2 << 20

    init(extent: Int, index: Int, slotClass: SlotClass) {
        self.extent = extent
        self.index = index
        self.slotClass = slotClass
    }

    init?(code: Int64) {
        guard code >= 0, let slotClass = SlotClass(number: Int(code) % SlotClass.count) else { return nil }
        let offset = Int(code) / SlotClass.count * SlotClass.unit
        let (extent, rest) = offset.quotientAndRemainder(dividingBy: Self.extentBytes)
        guard rest % slotClass.size == 0, rest + slotClass.size <= Self.extentBytes else { return nil }
        self.init(extent: extent, index: rest / slotClass.size, slotClass: slotClass)
    }

    /// The place and the class in a single number, for the index: the offset in units of ``SlotClass/unit``, and the
    /// class in the lowest seven bits.
    var code: Int64 { offset / Int64(SlotClass.unit) * Int64(SlotClass.count) + Int64(slotClass.number) }
    var offset: Int64 { Int64(extent) * Int64(Self.extentBytes) + Int64(index * slotClass.size) }
}
