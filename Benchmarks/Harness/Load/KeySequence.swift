import Foundation

/// The order in which the load requests numbered entries. A fixed seed makes the order the same for all servers.
enum KeySequence: String, CaseIterable {
    case uniform
    /// Zipf's law with the exponent 1: the second most popular entry is requested half as often as the first.
    case zipf = "Zipf"

    /// The number of lines of a file.
    private static let length = 1_000_000

    /// A file of numbers below `count` for `sequence.lua`, one per line. Spaces behind the numbers make all lines
    /// equally long.
    func file(_ count: Int, _ bench: Bench) throws -> URL {
        let file = bench.work.appendingPathComponent("sequence-\(rawValue)-\(count)")
        if FileManager.default.fileExists(atPath: file.path) { return file }
        var random = SplitMix(state: 1)
        let sums = self == .zipf ? Self.sums(count) : []
        // The popular entries are spread over the whole cache.
        let names = self == .zipf ? (0..<count).shuffled(using: &random) : []
        let width = String(count).utf8.count
        var text: [UInt8] = []
        text.reserveCapacity(Self.length * (width + 1))
        for _ in 0..<Self.length {
            let number: Int
            switch self {
            case .uniform:
                number = Int.random(in: 0..<count, using: &random)
            case .zipf:
                let drawn = Double.random(in: 0..<(sums.last ?? 1), using: &random)
                number = names[Self.place(drawn, in: sums)]
            }
            let digits = String(number).utf8
            text.append(contentsOf: digits)
            text.append(contentsOf: repeatElement(UInt8(ascii: " "), count: width - digits.count))
            text.append(UInt8(ascii: "\n"))
        }
        try Data(text).write(to: file)
        return file
    }

    /// The sums 1, 1 + 1/2, 1 + 1/2 + 1/3 …
    private static func sums(_ count: Int) -> [Double] {
        var sum = 0.0
        return (1...count).map { rank in
            sum += 1 / Double(rank)
            return sum
        }
    }

    /// The first index with a sum above `drawn`.
    private static func place(_ drawn: Double, in sums: [Double]) -> Int {
        var (low, high) = (0, sums.count - 1)
        while low < high {
            let middle = (low + high) / 2
            if sums[middle] > drawn { high = middle } else { low = middle + 1 }
        }
        return low
    }
}

/// SplitMix64, a small generator that yields the same numbers on every machine.
struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }
}
