import Glibc

/// An instant of the wall clock, in whole milliseconds since 1970-01-01T00:00:00Z. Foundation's `Date` is a `Double`
/// and slow to print, and the index very often compares and prints instants.
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

    /// The sum, at most ``distantFuture``. Fractions of a millisecond are cut off.
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
    /// Infinite when the number is too large for a `Double`; negative after a minus sign.
    package let seconds: Double
    package let hasUnit: Bool
    /// A text with an example of each unit, for error messages.
    package static let examples = "90s, 15m, 1h or 7d"
    private static let units: [UInt8: Double] = [
        UInt8(ascii: "s"): 1, UInt8(ascii: "m"): 60, UInt8(ascii: "h"): 3600, UInt8(ascii: "d"): 86_400,
    ]

    /// `nil` for any other text, such as one with a plus sign, white space, or several units.
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

/// A day of the proleptic Gregorian calendar. Uses Howard Hinnant's `civil_from_days` and `days_from_civil`.
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

extension Timestamp {
    /// In UTC with milliseconds: `2026-01-31T08:05:09.250Z`. Every time in the API has this form.
    package var rfc3339: String {
        let (day, millisecond) = split()
        return String.ofTime { text in
            text.append(day.year, digits: 4, then: "-")
            text.append(Int64(day.month), digits: 2, then: "-")
            text.append(Int64(day.day), digits: 2, then: "T")
            text.append(timeOfDay: millisecond / 1000, then: ".")
            text.append(millisecond % 1000, digits: 3, then: "Z")
        }
    }

    /// The preferred form, IMF-fixdate (RFC 9110 §5.6.7): `Sat, 31 Jan 2026 08:05:09 GMT`.
    package var httpDate: String {
        let (day, millisecond) = split()
        return String.ofTime { text in
            text.append(Self.weekdays[Int((day.daysSinceEpoch % 7 + 11) % 7)])
            text.append(", ")
            text.append(Int64(day.day), digits: 2, then: " ")
            text.append(Self.months[day.month - 1])
            text.append(" ")
            text.append(day.year, digits: 4, then: " ")
            text.append(timeOfDay: millisecond / 1000, then: " GMT")
        }
    }

    /// Reads an HTTP date in any of the three forms of RFC 9110 §5.6.7: IMF-fixdate, RFC 850 and asctime. Letters match
    /// in either case, as RFC 9111 §4.2 asks of caches. `nil` for any other text, such as a second space, a day of one
    /// digit, a zone other than GMT, or a weekday in the spelling of another form. The weekday is not checked. An RFC
    /// 850 date more than 50 years after `now` is in the most recent past year with the same last two digits.
    package init?(httpDate text: String, now: Timestamp) {
        var text = text
        let instant = text.withUTF8 { bytes in
            var reader = HTTPDateReader(bytes: bytes)
            return reader.instant(now: now)
        }
        guard let instant else { return nil }
        self = instant
    }

    /// The day, and the milliseconds since its midnight in UTC.
    func split() -> (day: CivilDay, millisecond: Int64) {
        let perDay: Int64 = 86_400_000
        var days = milliseconds / perDay
        var rest = milliseconds % perDay
        if rest < 0 {
            rest += perDay
            days -= 1
        }
        return (CivilDay(daysSinceEpoch: days), rest)
    }

    static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    static let weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
}

extension String {
    /// Builds the text in place, because every response has several times, and appending to a string is slow.
    fileprivate static func ofTime(_ write: (inout TimeText) -> Void) -> String {
        String(unsafeUninitializedCapacity: TimeText.capacity) { buffer in
            var text = TimeText(buffer: buffer)
            write(&text)
            return text.count
        }
    }
}

private struct TimeText {
    /// Enough bytes for any year that a timestamp can have.
    static let capacity = 48
    let buffer: UnsafeMutableBufferPointer<UInt8>
    var count = 0

    mutating func append(_ text: String) {
        for byte in text.utf8 { append(byte) }
    }

    /// Pads a number with zeros. A longer number is not cut. A negative number has its sign after the padding.
    mutating func append(_ number: Int64, digits: Int, then next: String) {
        defer { append(next) }
        var divisor: Int64 = 1
        for _ in 1..<digits { divisor *= 10 }
        guard 0..<divisor * 10 ~= number else {
            let text = String(number)
            for _ in text.utf8.count..<max(digits, text.utf8.count) { append(UInt8(ascii: "0")) }
            return append(text)
        }
        var rest = number
        while divisor > 0 {
            append(UInt8(ascii: "0") + UInt8(rest / divisor))
            rest %= divisor
            divisor /= 10
        }
    }

    mutating func append(timeOfDay second: Int64, then next: String) {
        append(second / 3600, digits: 2, then: ":")
        append(second / 60 % 60, digits: 2, then: ":")
        append(second % 60, digits: 2, then: next)
    }

    private mutating func append(_ byte: UInt8) {
        buffer[count] = byte
        count += 1
    }
}

/// Reads the bytes of an HTTP date once and allocates no memory, because every response of an origin has several dates.
private struct HTTPDateReader {
    let bytes: UnsafeBufferPointer<UInt8>
    var position = 0

    mutating func instant(now: Timestamp) -> Timestamp? {
        guard let weekday = index(in: Self.weekdays) else { return nil }
        let instant =
            if take(", ") {
                restOfFixedDate()
            } else if take(" ") {
                restOfCTime()
            } else if take(Self.weekdayEndings[weekday]), take(", ") {
                restOfRFC850Date(now: now)
            } else { Timestamp?.none }
        return position == bytes.count ? instant : nil
    }

    /// `06 Nov 1994 08:49:37 GMT`
    private mutating func restOfFixedDate() -> Timestamp? {
        guard let day = number(digits: 2), take(" "), let month = index(in: Self.months), take(" "),
            let year = number(digits: 4), take(" "), let second = secondOfDay(), take(" GMT")
        else { return nil }
        return Self.instant(CivilDay(year: year, month: month + 1, day: Int(day)), second)
    }

    /// `06-Nov-94 08:49:37 GMT`
    private mutating func restOfRFC850Date(now: Timestamp) -> Timestamp? {
        guard let day = number(digits: 2), take("-"), let month = index(in: Self.months), take("-"),
            let shortYear = number(digits: 2), take(" "), let second = secondOfDay(), take(" GMT")
        else { return nil }
        let (today, millisecond) = now.split()
        var civil = CivilDay(year: today.year - today.year % 100 + shortYear, month: month + 1, day: Int(day))
        let isAhead =
            (civil.year, civil.month, civil.day, second) > (today.year + 50, today.month, today.day, millisecond / 1000)
        if isAhead { civil.year -= 100 }
        return Self.instant(civil, second)
    }

    /// `Nov  6 08:49:37 1994`
    private mutating func restOfCTime() -> Timestamp? {
        guard let month = index(in: Self.months), take(" "),
            let day = take(" ") ? number(digits: 1) : number(digits: 2),
            take(" "), let second = secondOfDay(), take(" "), let year = number(digits: 4)
        else { return nil }
        return Self.instant(CivilDay(year: year, month: month + 1, day: Int(day)), second)
    }

    /// The second of the day from a text such as `08:49:37`. A leap second is the first second of the next minute.
    private mutating func secondOfDay() -> Int64? {
        guard let hour = number(digits: 2), take(":"), let minute = number(digits: 2), take(":"),
            let second = number(digits: 2), hour < 24, minute < 60, second <= 60
        else { return nil }
        return hour * 3600 + minute * 60 + second
    }

    private static func instant(_ day: CivilDay, _ secondOfDay: Int64) -> Timestamp? {
        day.exists ? Timestamp(seconds: day.daysSinceEpoch * 86_400 + secondOfDay) : nil
    }

    private mutating func number(digits: Int) -> Int64? {
        guard position + digits <= bytes.count else { return nil }
        var value: Int64 = 0
        for byte in bytes[position..<position + digits] {
            guard case 0x30...0x39 = byte else { return nil }
            value = value * 10 + Int64(byte - 0x30)
        }
        position += digits
        return value
    }

    /// Reads three letters, in either case; returns the index of the name that they match.
    private mutating func index(in names: [UInt32]) -> Int? {
        guard position + 3 <= bytes.count else { return nil }
        let name = Self.code(bytes[position], bytes[position + 1], bytes[position + 2])
        guard let index = names.firstIndex(of: name) else { return nil }
        position += 3
        return index
    }

    /// Skips `text`, with letters in either case, if the next bytes match it. Returns whether they match.
    private mutating func take(_ text: StaticString) -> Bool {
        let wanted = UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
        guard position + wanted.count <= bytes.count else { return false }
        for (offset, byte) in wanted.enumerated() {
            let found = bytes[position + offset]
            let isLetter = (0x61...0x7A).contains(byte | 0x20)
            guard found == byte || (isLetter && found | 0x20 == byte | 0x20) else { return false }
        }
        position += wanted.count
        return true
    }

    /// Three letters as one number, equal for both cases. Setting bit 0x20 turns no other byte into a letter.
    private static func code(_ first: UInt8, _ second: UInt8, _ third: UInt8) -> UInt32 {
        (UInt32(first) << 16 | UInt32(second) << 8 | UInt32(third)) | 0x20_20_20
    }

    private static func codes(_ names: [String]) -> [UInt32] {
        names.map { name in
            let letters = Array(name.utf8)
            return code(letters[0], letters[1], letters[2])
        }
    }

    private static let months = codes(Timestamp.months)
    private static let weekdays = codes(Timestamp.weekdays)
    /// For each weekday, the rest of its name in an RFC 850 date, after the first three letters.
    private static let weekdayEndings: [StaticString] = ["day", "day", "sday", "nesday", "rsday", "day", "urday"]
}
