/// The size of a slot: eight sizes for each doubling, from 256 bytes on, so that what does not fill its slot wastes a
/// ninth of it at most.
struct SlotClass: Hashable, Sendable {
    /// The smallest is 0.
    let number: Int

    /// There are no more than this many: the number has seven bits in ``Slot/code``.
    static let count = 1 << 7
    /// All sizes are multiples of this, in bytes.
    static let unit = 1 << unitBits
    private static let unitBits = 5
    private static let stepBits = 3

    /// The one of that number; `nil` when there is none.
    init?(number: Int) {
        guard 0..<Self.count ~= number else { return nil }
        self.number = number
    }

    /// The smallest that holds so many bytes.
    init(holding length: Int) {
        let length = max(length, Self.unit << Self.stepBits)
        let bits = Int.bitWidth - 1 - length.leadingZeroBitCount - Self.stepBits
        let steps = (length + (1 << bits) - 1) >> bits
        number = (bits - Self.unitBits) << Self.stepBits + steps - 1 << Self.stepBits
    }

    /// How many bytes a slot has.
    var size: Int {
        let steps = 1 << Self.stepBits
        return (steps + number & (steps - 1)) << (number >> Self.stepBits + Self.unitBits)
    }

    /// How many slots an extent of ``Slot/extentBytes`` has.
    var slotsPerExtent: Int { Slot.extentBytes / size }
}

/// A place in the slab: one of the equal parts of an extent.
struct Slot: Hashable, Sendable {
    /// Of which extent.
    let extent: Int
    /// Which of its parts.
    let index: Int
    let slotClass: SlotClass

    /// What is divided into slots of one size, in bytes; the longest body, of 1 MiB, fits with all that stands beside
    /// it.
    static let extentBytes = 2 << 20

    init(extent: Int, index: Int, slotClass: SlotClass) {
        self.extent = extent
        self.index = index
        self.slotClass = slotClass
    }

    /// The slot that ``code`` stands for; `nil` for a number that stands for none.
    init?(code: Int64) {
        guard code >= 0, let slotClass = SlotClass(number: Int(code) % SlotClass.count) else { return nil }
        let offset = Int(code) / SlotClass.count * SlotClass.unit
        let (extent, rest) = offset.quotientAndRemainder(dividingBy: Self.extentBytes)
        guard rest % slotClass.size == 0, rest + slotClass.size <= Self.extentBytes else { return nil }
        self.init(extent: extent, index: rest / slotClass.size, slotClass: slotClass)
    }

    /// One number for the place and the size, as it stands in the index: the place in units of ``SlotClass/unit``, and
    /// behind it the class in seven bits.
    var code: Int64 { offset / Int64(SlotClass.unit) * Int64(SlotClass.count) + Int64(slotClass.number) }

    /// Where it begins in the file, in bytes.
    var offset: Int64 { Int64(extent) * Int64(Self.extentBytes) + Int64(index * slotClass.size) }
}
