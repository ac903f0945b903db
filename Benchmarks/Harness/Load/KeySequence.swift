import Foundation

/// In which order the load asks for numbered entries. The same one for everybody: it is drawn from a fixed seed.
enum KeySequence: String, CaseIterable {
    case uniform
    /// Zipf's law with the exponent 1: the second most popular entry is asked for half as often as the first.
    case zipf = "Zipf"

    /// How many numbers a file has.
    private static let length = 1_000_000

    /// A file of numbers below `count`, one a line, for `sequence.lua`: with spaces behind them, so that all lines are
    /// equally long.
    func file(_ count: Int, _ bench: Bench) throws -> URL {
        let file = bench.work.appendingPathComponent("sequence-\(rawValue)-\(count)")
        if FileManager.default.fileExists(atPath: file.path) { return file }
        var random = SplitMix(state: 1)
        let sums = self == .zipf ? Self.sums(count) : []
        // What is popular is spread over the whole cache.
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

    /// 1, 1 + 1/2, 1 + 1/2 + 1/3 …
    private static func sums(_ count: Int) -> [Double] {
        var sum = 0.0
        return (1...count).map { rank in
            sum += 1 / Double(rank)
            return sum
        }
    }

    /// The first place whose sum is above `drawn`.
    private static func place(_ drawn: Double, in sums: [Double]) -> Int {
        var (low, high) = (0, sums.count - 1)
        while low < high {
            let middle = (low + high) / 2
            if sums[middle] > drawn { high = middle } else { low = middle + 1 }
        }
        return low
    }
}

/// SplitMix64: small, and the same numbers everywhere.
private struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }
}
