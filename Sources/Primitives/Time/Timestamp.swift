/// An instant of the wall clock, in whole milliseconds since 1970-01-01T00:00:00Z.
///
/// Foundation's `Date` is a `Double` and slow to print, and the index stores, compares and prints instants all the
/// time.
package struct Timestamp: Hashable, Comparable, Sendable {
    /// Milliseconds since the Unix epoch; negative before the epoch.
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

    /// The instant `duration` later, at most ``distantFuture``; fractions of a millisecond are cut off.
    package static func + (instant: Timestamp, duration: Duration) -> Timestamp {
        let (sum, overflow) = instant.milliseconds.addingReportingOverflow(duration.milliseconds)
        return overflow ? distantFuture : min(Timestamp(milliseconds: sum), distantFuture)
    }

    package static func - (instant: Timestamp, duration: Duration) -> Timestamp {
        Timestamp(milliseconds: instant.milliseconds - duration.milliseconds)
    }

    /// The time from `earlier` to `later`; negative when `later` comes before `earlier`.
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

    /// The duration of `seconds`, for a number of any size. A negative number and NaN give zero; more than 10,000 years
    /// give 10,000 years. `Duration.seconds` ends the process when its number does not fit.
    package static func clamping(seconds: Double) -> Duration {
        let longest: Duration = .seconds(315_569_520_000)
        // NaN fails this comparison, too.
        guard seconds > 0 else { return .zero }
        return seconds < longest.inSeconds ? .seconds(seconds) : longest
    }

    /// The duration in seconds, as a floating-point number.
    package var inSeconds: Double {
        let (seconds, attoseconds) = components
        return Double(seconds) + Double(attoseconds) * 1e-18
    }
}

/// A day of the proleptic Gregorian calendar. The algorithms are `civil_from_days` and `days_from_civil` of Howard
/// Hinnant, "chrono-Compatible Low-Level Date Algorithms".
struct CivilDay {
    var year: Int64
    var month: Int
    var day: Int

    init(year: Int64, month: Int, day: Int) {
        self.year = year
        self.month = month
        self.day = day
    }

    init(daysSinceEpoch days: Int64) {
        let shifted = days + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        day = Int(dayOfYear - (153 * monthFromMarch + 2) / 5 + 1)
        month = Int(monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9)
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
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

extension CivilDay: Equatable {}
