// Invariants of this file
//
// - A cell whose number is at least `first` stands for a hash that is remembered. There are `count` of them, and of the
//   numbers from `first` up to `next` the bits of these are set, no others.
// - The numbers from `first` up to `next` are no more than there are bits.

/// The hashes of the last entries that went, up to a limit that is given with each: that they went, not what they were.
///
/// Buckets of eight cells, a cache line each; a cell holds 32 bits of a hash and the number of its insertion. A full
/// bucket forgets its oldest a little early, and two hashes may look alike (in a table of a million, one in four
/// thousand): both only cost a worse choice.
///
/// What is removed leaves its number behind, and does not push others out early; the bits tell which numbers count.
///
/// It grows with what it holds: never more than 16 bytes for each hash that the limit allows, and 72 bytes.
struct GhostTable: Sendable {
    private static let bucketSize = 8

    /// The mark in the low half, the number of the insertion in the high one.
    private var cells: [UInt64] = []
    /// Which numbers are remembered: those of a number's remainder.
    private var bits: [UInt64] = []
    /// The lowest number that may be remembered, and the next one to be given; 0 is never.
    private var (first, next): (UInt32, UInt32) = (1, 1)
    /// How many are remembered.
    private(set) var count = 0

    /// The memory that it takes.
    var memoryBytes: Int { (cells.count + bits.count) * MemoryLayout<UInt64>.stride }

    /// Removes a hash, for what it stands for is back; whether it was there.
    mutating func remove(_ hash: Int) -> Bool {
        guard let index = find(Self.mark(hash)) else { return false }
        clear(index)
        return true
    }

    /// Whether a hash is there.
    func contains(_ hash: Int) -> Bool { find(Self.mark(hash)) != nil }

    /// Adds a hash, and forgets the oldest, so that no more than `limit` are left.
    mutating func insert(_ hash: Int, limit: Int) {
        guard limit > 0 else { return }
        let mark = Self.mark(hash)
        if let index = find(mark) { clear(index) }
        while count >= limit { forgetOldest() }
        fit(limit)
        put(mark)
    }

    // MARK: - Cells

    private mutating func put(_ mark: UInt32) {
        let bucket = bucket(of: mark)
        // What is forgotten has lower numbers than what is not, and an empty cell has the lowest.
        let target = bucket.min { cells[$0] >> 32 < cells[$1] >> 32 } ?? bucket.lowerBound
        if isRemembered(target) { clear(target) }
        cells[target] = UInt64(next) << 32 | UInt64(mark)
        bits[Int(next) / 64 % bits.count] |= 1 << (next % 64)
        count += 1
        next += 1
    }

    private func find(_ mark: UInt32) -> Int? {
        guard !cells.isEmpty else { return nil }
        return bucket(of: mark).first { UInt32(truncatingIfNeeded: cells[$0]) == mark && isRemembered($0) }
    }

    private func isRemembered(_ index: Int) -> Bool { cells[index] >> 32 >= UInt64(first) }

    private mutating func clear(_ index: Int) {
        let number = UInt32(cells[index] >> 32)
        bits[Int(number) / 64 % bits.count] &= ~(1 << (number % 64))
        cells[index] = 0
        count -= 1
    }

    private mutating func forgetOldest() {
        let (word, bit) = (Int(first) / 64 % bits.count, UInt64(1) << (first % 64))
        if bits[word] & bit != 0 {
            bits[word] &= ~bit
            count -= 1
        }
        first += 1
    }

    /// Makes the table larger or smaller when it has to be, and numbers what is in it anew; that, too, when the numbers
    /// have run out.
    private mutating func fit(_ limit: Int) {
        let isTight = cells.count * 4 < (count + 1) * 5
        let isWide = cells.count > max(Self.bucketSize, limit * 15 / 8)
        guard isTight || isWide || next == .max || Int(next - first) >= bits.count * 64 else { return }
        var buckets = cells.count / Self.bucketSize
        if isTight || isWide {
            // Not for the limit at once: it is filled as entries go, and may never be.
            let target = isTight ? min(limit, max(count * 2, 32)) : limit
            buckets = max(1, target * 7 / 4 / Self.bucketSize)
        }
        let remembered = cells.filter { $0 >> 32 >= UInt64(first) }.sorted { $0 >> 32 < $1 >> 32 }
        cells = [UInt64](repeating: 0, count: buckets * Self.bucketSize)
        bits = [UInt64](repeating: 0, count: (buckets + 1) / 2)
        (first, next, count) = (1, 1, 0)
        for cell in remembered { put(UInt32(truncatingIfNeeded: cell)) }
    }

    /// Half of a hash.
    private static func mark(_ hash: Int) -> UInt32 {
        UInt32(truncatingIfNeeded: UInt64(truncatingIfNeeded: hash) >> 32)
    }

    private func bucket(of mark: UInt32) -> Range<Int> {
        let number = (UInt64(mark) * UInt64(cells.count / Self.bucketSize)) >> 32
        let start = Int(number) * Self.bucketSize
        return start..<start + Self.bucketSize
    }
}
