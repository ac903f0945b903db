/// Finds the case of an enumeration by its raw value in a document, without regard to ASCII case.
struct NameTable<Name: RawRepresentable<String> & CaseIterable & Sendable>: Sendable {
    private struct Slot: Sendable {
        var code: UInt128
        var length: Int
        var name: Name
        /// The index in `allCases`.
        var index: Int
    }

    /// Names are at most this long, so that one integer can hold a name.
    private static var longest: Int { 16 }
    /// An open hash table with a power of two of slots, of which at most half are used.
    private let slots: [Slot?]

    init() {
        var count = 16
        while count < 2 * Name.allCases.count { count *= 2 }
        var slots = [Slot?](repeating: nil, count: count)
        for (order, name) in Name.allCases.enumerated() {
            precondition(name.rawValue.utf8.count <= Self.longest)
            let code = Array(name.rawValue.utf8).span.code(of: 0..<name.rawValue.utf8.count)
            var index = Self.hash(code) & (count - 1)
            while slots[index] != nil { index = (index + 1) & (count - 1) }
            slots[index] = Slot(code: code, length: name.rawValue.utf8.count, name: name, index: order)
        }
        self.slots = slots
    }

    /// Returns the case and its index in `allCases`; `nil` for a text that is no raw value.
    func find(_ range: Range<Int>, in bytes: Span<UInt8>) -> (name: Name, index: Int)? {
        guard range.count <= Self.longest else { return nil }
        let code = bytes.code(of: range)
        var index = Self.hash(code) & (slots.count - 1)
        while let slot = slots[index] {
            if slot.code == code, slot.length == range.count { return (slot.name, slot.index) }
            index = (index + 1) & (slots.count - 1)
        }
        return nil
    }

    private static func hash(_ code: UInt128) -> Int {
        let folded = UInt64(truncatingIfNeeded: code) ^ UInt64(truncatingIfNeeded: code >> 64) &* 0xff51_afd7_ed55_8ccd
        return Int(truncatingIfNeeded: (folded &* 0x9e37_79b9_7f4a_7c15) >> 40)
    }
}

extension Span<UInt8> {
    /// At most 16 bytes as one integer, with ASCII letters in lower case.
    fileprivate func code(of range: Range<Int>) -> UInt128 {
        var (low, high): (UInt64, UInt64) = (0, 0)
        for index in range {
            let byte = UInt64(self[index].lowercased)
            if index - range.lowerBound < 8 { low = low << 8 | byte } else { high = high << 8 | byte }
        }
        return UInt128(high) << 64 | UInt128(low)
    }
}
