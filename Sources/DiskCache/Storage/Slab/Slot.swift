import Foundation

/// The size of a slot. Eight sizes for each doubling, from 256 bytes on, let a body waste at most a ninth of its slot.
struct SlotClass: Hashable, Sendable {
    /// The smallest size has the number 0.
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

    var slotsPerExtent: Int { Slot.extentBytes / size }
    var size: Int {
        let steps = 1 << Self.stepBits
        return (steps + number & (steps - 1)) << (number >> Self.stepBits + Self.unitBits)
    }
}

/// A place in the slab: one of the equal parts of an extent.
package struct Slot: Hashable, Sendable {
    let extent: Int
    let index: Int
    let slotClass: SlotClass

    /// The length of an extent: the longest body that goes into the slab, 1 MiB, fits with its record.
    static let extentBytes = 2 << 20

    /// The slot in the index: the offset in units of ``SlotClass/unit``, and the class in the lowest seven bits.
    var code: Int64 { offset / Int64(SlotClass.unit) * Int64(SlotClass.count) + Int64(slotClass.number) }
    var offset: Int64 { Int64(extent) * Int64(Self.extentBytes) + Int64(index * slotClass.size) }
}

extension Slot {
    init?(code: Int64) {
        guard code >= 0, let slotClass = SlotClass(number: Int(code) % SlotClass.count) else { return nil }
        let offset = Int(code) / SlotClass.count * SlotClass.unit
        let (extent, rest) = offset.quotientAndRemainder(dividingBy: Self.extentBytes)
        guard rest % slotClass.size == 0, rest + slotClass.size <= Self.extentBytes else { return nil }
        self.init(extent: extent, index: rest / slotClass.size, slotClass: slotClass)
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

    /// The bits in the index: the lowest bit of the first byte is the first slot; slots never used are left out.
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
