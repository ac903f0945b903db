// Invariants: a cell with a number of at least `first` stands for a remembered hash. There are `count` such cells.
// Exactly the bits of their numbers are set. `next` - `first` is at most the number of bits, so numbers share no bit.

/// Remembers the hashes of the last evicted entries, up to a limit that each insertion states. A bucket is a cache line
/// of eight cells. A full bucket forgets its oldest hash early, and a hash may look like another (of a million hashes,
/// one in four thousand). Both only cause a worse choice. The bits tell which numbers are in use, so removed hashes
/// push out no others. The table takes at most 16 bytes for each hash that the limit allows, plus 72.
struct GhostTable: Sendable {
    private static let bucketSize = 8

    /// The mark (half of a hash) in the low half, the number of the insertion in the high half.
    private var cells: [UInt64] = []
    /// The insertion numbers that are remembered. The bit of a number is at the number modulo the count of bits.
    private var bits: [UInt64] = []
    /// The lowest number that may be remembered, and the next number to assign. The number 0 is never assigned.
    private var (first, next): (UInt32, UInt32) = (1, 1)
    private(set) var count = 0
    var memoryBytes: Int { (cells.count + bits.count) * MemoryLayout<UInt64>.stride }

    /// Forgets a hash, because its entry is back. Returns whether the hash was there.
    mutating func remove(_ hash: Int) -> Bool {
        guard let index = find(Self.mark(hash)) else { return false }
        clear(index)
        return true
    }

    func contains(_ hash: Int) -> Bool { find(Self.mark(hash)) != nil }

    /// Remembers a hash. First forgets the oldest hashes, so that at most `limit` are remembered.
    mutating func insert(_ hash: Int, limit: Int) {
        guard limit > 0 else { return }
        let mark = Self.mark(hash)
        if let index = find(mark) { clear(index) }
        while count >= limit { forgetOldest() }
        fit(limit)
        put(mark)
    }

    private mutating func put(_ mark: UInt32) {
        let bucket = bucket(of: mark)
        // Forgotten cells have lower numbers than remembered cells, and an empty cell has the lowest number.
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

    /// Resizes the table if it is too small or too large, and renumbers the hashes, also when the numbers run out.
    private mutating func fit(_ limit: Int) {
        let isTight = cells.count * 4 < (count + 1) * 5
        let isWide = cells.count > max(Self.bucketSize, limit * 15 / 8)
        guard isTight || isWide || next == .max || Int(next - first) >= bits.count * 64 else { return }
        var buckets = cells.count / Self.bucketSize
        if isTight || isWide {
            // Does not grow to the limit at once: the table fills only as entries are evicted, and may never be full.
            let target = isTight ? min(limit, max(count * 2, 32)) : limit
            buckets = max(1, target * 7 / 4 / Self.bucketSize)
        }
        let remembered = cells.filter { $0 >> 32 >= UInt64(first) }.sorted { $0 >> 32 < $1 >> 32 }
        cells = [UInt64](repeating: 0, count: buckets * Self.bucketSize)
        bits = [UInt64](repeating: 0, count: (buckets + 1) / 2)
        (first, next, count) = (1, 1, 0)
        for cell in remembered { put(UInt32(truncatingIfNeeded: cell)) }
    }

    private static func mark(_ hash: Int) -> UInt32 {
        UInt32(truncatingIfNeeded: UInt64(truncatingIfNeeded: hash) >> 32)
    }

    private func bucket(of mark: UInt32) -> Range<Int> {
        let number = (UInt64(mark) * UInt64(cells.count / Self.bucketSize)) >> 32
        let start = Int(number) * Self.bucketSize
        return start..<start + Self.bucketSize
    }
}
