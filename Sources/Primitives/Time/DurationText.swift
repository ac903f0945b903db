/// A duration as text: seconds as a decimal number, or a number with a unit.
///
///     DurationText("20")    // 20 seconds
///     DurationText("1.5h")  // 5400 seconds
///
/// | unit | means |
/// |---|---|
/// | `s`, or none | seconds |
/// | `m` | minutes |
/// | `h` | hours |
/// | `d` | days of 24 hours |
package struct DurationText: Hashable, Sendable {
    /// The seconds; infinite when a `Double` cannot hold the number, and negative behind a minus sign.
    package let seconds: Double
    /// Whether the text names its unit.
    package let hasUnit: Bool

    /// Examples of all units, for error messages.
    package static let examples = "90s, 15m, 1h or 7d"

    private static let units: [UInt8: Double] = [
        UInt8(ascii: "s"): 1, UInt8(ascii: "m"): 60, UInt8(ascii: "h"): 3600, UInt8(ascii: "d"): 86_400,
    ]

    /// `nil` for a text that is no decimal number, begins with a plus sign, or has another unit, white space, or
    /// several units.
    package init?(_ text: String) {
        let factor = text.utf8.last.flatMap { Self.units[$0] }
        let number = text.utf8.dropLast(factor == nil ? 0 : 1)
        // `Double` also reads a plus sign, "nan", "inf" and hexadecimal.
        guard number.first != UInt8(ascii: "+"),
            number.allSatisfy({ $0.isDigit || "+-.eE".utf8.contains($0) }),
            let value = Double(Substring(number))
        else { return nil }
        seconds = value * (factor ?? 1)
        hasUnit = factor != nil
    }
}
