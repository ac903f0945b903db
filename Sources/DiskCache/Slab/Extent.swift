import Foundation

/// A part of the slab that is divided into slots of one size, and which of them are used.
struct Extent {
    /// `nil`: it is not divided, and nothing is in it.
    let slotClass: SlotClass?
    /// A bit for each slot.
    private var words: [UInt64]
    /// How many slots are used.
    private(set) var count = 0
    /// How many slots, from the first on, have been used at some time: what is behind them takes no room on disk.
    private(set) var writtenCount = 0
    /// Before this word there is no free slot.
    private var firstOpenWord = 0
    /// Whether it is among those that are filled; the map's own.
    var isListed = false

    /// An empty one.
    init(_ slotClass: SlotClass?) {
        self.slotClass = slotClass
        words = [UInt64](repeating: 0, count: ((slotClass?.slotsPerExtent ?? 0) + 63) / 64)
    }

    /// The one that ``image`` was made of; `nil` when there are more slots than an extent has.
    init?(_ slotClass: SlotClass, writtenCount: Int, used image: Data) {
        self.init(slotClass)
        guard 0...capacity ~= writtenCount else { return nil }
        self.writtenCount = writtenCount
        for (position, byte) in image.enumerated() where byte != 0 {
            for bit in 0..<8 where byte & 1 << bit != 0 {
                let index = position * 8 + bit
                guard index < writtenCount else { return nil }
                words[index / 64] |= 1 << UInt64(index % 64)
                count += 1
            }
        }
    }

    /// The bits, as they stand in the index: the lowest bit of the first byte is the first slot. What was never used is
    /// left out.
    var image: Data {
        Data((0..<(writtenCount + 7) / 8).map { UInt8(truncatingIfNeeded: words[$0 / 8] >> UInt64($0 % 8 * 8)) })
    }

    /// How many slots there are.
    private var capacity: Int { slotClass?.slotsPerExtent ?? 0 }

    /// How many slots are free.
    var freeCount: Int { capacity - count }

    /// What used slots take, in bytes.
    var usedBytes: Int { count * (slotClass?.size ?? 0) }

    /// What free slots take on disk that were used before, in bytes.
    var slackBytes: Int64 { Int64((writtenCount - count) * (slotClass?.size ?? 0)) }

    /// Whether a slot is used.
    func isUsed(_ index: Int) -> Bool {
        index < capacity && words[index / 64] & 1 << UInt64(index % 64) != 0
    }

    /// Takes the first free slot; there must be one.
    mutating func takeFirst() -> Int {
        while words[firstOpenWord] == .max { firstOpenWord += 1 }
        let index = firstOpenWord * 64 + (~words[firstOpenWord]).trailingZeroBitCount
        let isTaken = take(index)
        precondition(isTaken, "no slot of the extent is free")
        return index
    }

    /// Takes a slot; whether it was free.
    mutating func take(_ index: Int) -> Bool {
        guard index < capacity, !isUsed(index) else { return false }
        words[index / 64] |= 1 << UInt64(index % 64)
        count += 1
        writtenCount = max(writtenCount, index + 1)
        return true
    }

    /// Frees a slot, if it is used.
    mutating func remove(_ index: Int) {
        guard isUsed(index) else { return }
        words[index / 64] &= ~(1 << UInt64(index % 64))
        count -= 1
        firstOpenWord = min(firstOpenWord, index / 64)
    }
}
