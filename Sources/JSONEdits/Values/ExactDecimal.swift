import Primitives

/// The exact value of a JSON number, for comparison and hashing: `1.0` equals `1e0`, and 2⁵³ + 1 does not equal 2⁵³.
///
/// The type computes no power of ten, so the time and the memory for `1e999999999` depend only on the length of its
/// text. The exponent may have any number of digits, because RFC 8259 §6 sets no limit.
package struct ExactDecimal: Hashable, Comparable, Sendable {
    /// Zero has no sign, so `-0` equals `0`.
    private let isNegative: Bool
    /// The significant digits in ASCII, without zeros at either end; empty for zero.
    private let digits: [UInt8]
    /// The value is `0.DIGITS` times ten to the power of this number; 0 for zero.
    private let exponent: DecimalExponent

    /// Reads a number in the grammar of RFC 8259 §6. Returns `nil` for any other text, such as `NaN`, `+1` or `01`.
    package init?(_ text: String) {
        var text = text
        let parts: Parts? = text.withUTF8 { Parts($0) }
        guard let parts else { return nil }
        let digits = parts.integer + parts.fraction
        guard let first = digits.firstIndex(where: { $0 != .zeroDigit }),
            let last = digits.lastIndex(where: { $0 != .zeroDigit })
        else {
            (isNegative, self.digits, exponent) = (false, [], DecimalExponent(isNegative: false, digits: [], adding: 0))
            return
        }
        isNegative = parts.isNegative
        self.digits = Array(digits[first...last])
        exponent = DecimalExponent(
            isNegative: parts.hasNegativeExponent, digits: parts.exponent, adding: parts.integer.count - first)
    }

    package static func < (left: ExactDecimal, right: ExactDecimal) -> Bool {
        let (leftSign, rightSign) = (left.sign, right.sign)
        guard leftSign == rightSign else { return leftSign < rightSign }
        return leftSign < 0 ? right.hasSmallerMagnitude(than: left) : left.hasSmallerMagnitude(than: right)
    }

    private var sign: Int { digits.isEmpty ? 0 : isNegative ? -1 : 1 }

    private func hasSmallerMagnitude(than other: ExactDecimal) -> Bool {
        guard exponent == other.exponent else { return exponent < other.exponent }
        return digits.lexicographicallyPrecedes(other.digits)
    }
}

/// The parts of a number's text.
private struct Parts {
    var isNegative = false
    var integer: [UInt8] = []
    var fraction: [UInt8] = []
    var hasNegativeExponent = false
    var exponent: [UInt8] = []

    init?(_ bytes: UnsafeBufferPointer<UInt8>) {
        var index = 0
        func take(_ accepted: UInt8...) -> UInt8? {
            guard index < bytes.count, accepted.contains(bytes[index]) else { return nil }
            index += 1
            return bytes[index - 1]
        }
        func takeDigits() -> [UInt8] {
            let start = index
            while index < bytes.count, bytes[index].isDigit { index += 1 }
            return Array(bytes[start..<index])
        }
        isNegative = take(UInt8(ascii: "-")) != nil
        integer = takeDigits()
        guard let first = integer.first, first != .zeroDigit || integer.count == 1 else { return nil }
        if take(UInt8(ascii: ".")) != nil {
            fraction = takeDigits()
            if fraction.isEmpty { return nil }
        }
        if take(UInt8(ascii: "e"), UInt8(ascii: "E")) != nil {
            hasNegativeExponent = take(UInt8(ascii: "+"), UInt8(ascii: "-")) == UInt8(ascii: "-")
            exponent = takeDigits()
            if exponent.isEmpty { return nil }
        }
        guard index == bytes.count else { return nil }
    }
}

/// An integer of any size. Each value has exactly one form, so that the derived equality is right.
private enum DecimalExponent: Hashable, Comparable {
    /// An integer with more digits than ``digitsOfSmall``, without leading zeros.
    case large(isNegative: Bool, digits: [UInt8])
    case small(Int)

    private static let digitsOfSmall = 18

    /// The sum of the number that `digits` denote in ASCII, and of `offset`, which is at most the length of a text.
    init(isNegative: Bool, digits: [UInt8], adding offset: Int) {
        let significant = Array(digits.drop { $0 == .zeroDigit })
        if significant.count < Self.digitsOfSmall {
            let magnitude = significant.reduce(0) { $0 * 10 + Int($1 - .zeroDigit) }
            // Both numbers are below 10¹⁷ in practice: a longer text would not fit into the memory.
            self = .small((isNegative ? -magnitude : magnitude) + offset)
            return
        }
        let sum = Self.sum(significant, isNegative ? -offset : offset)
        if sum.count <= Self.digitsOfSmall {
            let magnitude = sum.reduce(0) { $0 * 10 + Int($1 - .zeroDigit) }
            self = .small(isNegative ? -magnitude : magnitude)
        } else {
            self = .large(isNegative: isNegative, digits: sum)
        }
    }

    /// Adds `offset`, which has a smaller magnitude than the number of the digits, digit by digit.
    private static func sum(_ digits: [UInt8], _ offset: Int) -> [UInt8] {
        var output = digits
        var carry = offset
        for index in output.indices.reversed() where carry != 0 {
            let (quotient, remainder) = (carry + Int(output[index] - .zeroDigit)).quotientAndRemainder(dividingBy: 10)
            let digit = remainder < 0 ? remainder + 10 : remainder
            output[index] = .zeroDigit + UInt8(digit)
            carry = remainder < 0 ? quotient - 1 : quotient
        }
        while carry > 0 {
            output.insert(.zeroDigit + UInt8(carry % 10), at: 0)
            carry /= 10
        }
        return Array(output.drop { $0 == .zeroDigit })
    }

    static func < (left: DecimalExponent, right: DecimalExponent) -> Bool {
        switch (left, right) {
        case (.small(let left), .small(let right)): return left < right
        case (.large(let isNegative, _), .small): return isNegative
        case (.small, .large(let isNegative, _)): return !isNegative
        case (.large(let leftIsNegative, let leftDigits), .large(let rightIsNegative, let rightDigits)):
            guard leftIsNegative == rightIsNegative else { return leftIsNegative }
            let (smaller, larger) = leftIsNegative ? (rightDigits, leftDigits) : (leftDigits, rightDigits)
            guard smaller.count == larger.count else { return smaller.count < larger.count }
            return smaller.lexicographicallyPrecedes(larger)
        }
    }
}

extension UInt8 {
    fileprivate static var zeroDigit: UInt8 { UInt8(ascii: "0") }
}
