import Glibc

/// An instant of the wall clock, in whole milliseconds since 1970-01-01T00:00:00Z. Foundation's `Date` is a `Double`
/// and slow to print, and the index compares and prints instants all the time.
package struct Timestamp: Hashable, Comparable, Sendable {
    package var milliseconds: Int64

    package init(milliseconds: Int64) {
        self.milliseconds = milliseconds
    }

    package init(seconds: Int64) {
        milliseconds = seconds * 1000
    }

    /// The last millisecond of the year 9999, which stands for "never expires".
    package static let distantFuture = Timestamp(milliseconds: 253_402_300_799_999)

    package static func < (left: Timestamp, right: Timestamp) -> Bool {
        left.milliseconds < right.milliseconds
    }

    /// At most ``distantFuture``; fractions of a millisecond are cut off.
    package static func + (instant: Timestamp, duration: Duration) -> Timestamp {
        let (sum, overflow) = instant.milliseconds.addingReportingOverflow(duration.milliseconds)
        return overflow ? distantFuture : min(Timestamp(milliseconds: sum), distantFuture)
    }

    package static func - (instant: Timestamp, duration: Duration) -> Timestamp {
        Timestamp(milliseconds: instant.milliseconds - duration.milliseconds)
    }

    package static func - (later: Timestamp, earlier: Timestamp) -> Duration {
        .milliseconds(later.milliseconds - earlier.milliseconds)
    }
}

extension Duration {
    /// Whole milliseconds, cut towards zero. A duration that does not fit becomes the largest or smallest `Int64`.
    package var milliseconds: Int64 {
        let (seconds, attoseconds) = components
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1000)
        if overflow { return seconds < 0 ? .min : .max }
        let (sum, overflow2) = product.addingReportingOverflow(attoseconds / 1_000_000_000_000_000)
        return overflow2 ? (seconds < 0 ? .min : .max) : sum
    }

    /// A duration from any number, where `Duration.seconds` may trap: 0 for negative and NaN, at most 10,000 years.
    package static func clamping(seconds: Double) -> Duration {
        let longest: Duration = .seconds(315_569_520_000)
        // NaN fails this comparison, too.
        guard seconds > 0 else { return .zero }
        return seconds < longest.inSeconds ? .seconds(seconds) : longest
    }

    package var inSeconds: Double {
        let (seconds, attoseconds) = components
        return Double(seconds) + Double(attoseconds) * 1e-18
    }
}

/// The source of the current time. Every decision about freshness uses it, so that a test can move time forward.
package protocol WallClock: Sendable {
    func now() -> Timestamp
}

package struct SystemClock: WallClock {
    package init() {}

    package func now() -> Timestamp {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Timestamp(milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }
}

/// A decimal number with a unit: `s`, `m`, `h` or `d` for 24 hours. Without a unit it means seconds: `20`, `1.5h`.
package struct DurationText: Hashable, Sendable {
    /// Infinite when a `Double` cannot hold the number, and negative behind a minus sign.
    package let seconds: Double
    package let hasUnit: Bool
    /// All units, for error messages.
    package static let examples = "90s, 15m, 1h or 7d"
    private static let units: [UInt8: Double] = [
        UInt8(ascii: "s"): 1, UInt8(ascii: "m"): 60, UInt8(ascii: "h"): 3600, UInt8(ascii: "d"): 86_400,
    ]

    /// `nil` for any other text, also with a plus sign, white space, or several units.
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

/// A day of the proleptic Gregorian calendar, by Howard Hinnant's `civil_from_days` and `days_from_civil`.
struct CivilDay: Equatable {
    var year: Int64
    var month: Int
    var day: Int
}

extension CivilDay {
    init(daysSinceEpoch days: Int64) {
        let shifted = days + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let month = Int(monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9)
        self.init(
            year: yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month: month,
            day: Int(dayOfYear - (153 * monthFromMarch + 2) / 5 + 1))
    }

    var daysSinceEpoch: Int64 {
        let shiftedYear = month <= 2 ? year - 1 : year
        let era = (shiftedYear >= 0 ? shiftedYear : shiftedYear - 399) / 400
        let yearOfEra = shiftedYear - era * 400
        let monthFromMarch = Int64(month > 2 ? month - 3 : month + 9)
        let dayOfYear = (153 * monthFromMarch + 2) / 5 + Int64(day) - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }

    /// Whether the calendar has this day; `false` for 30 February, for example.
    var exists: Bool {
        (1...12).contains(month) && day >= 1 && CivilDay(daysSinceEpoch: daysSinceEpoch) == self
    }
}
