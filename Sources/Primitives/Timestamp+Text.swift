import Foundation

extension Timestamp {
    /// RFC 3339 in UTC with milliseconds, as every time in the API is written: `2026-01-31T08:05:09.250Z`.
    public var rfc3339: String {
        let (day, millisecond) = split()
        return String.ofTime { text in
            text.append(day.year, digits: 4)
            text.append("-")
            text.append(Int64(day.month), digits: 2)
            text.append("-")
            text.append(Int64(day.day), digits: 2)
            text.append("T")
            text.append(timeOfDay: millisecond / 1000)
            text.append(".")
            text.append(millisecond % 1000, digits: 3)
            text.append("Z")
        }
    }

    /// An HTTP date in the preferred form, IMF-fixdate (RFC 9110 §5.6.7): `Sat, 31 Jan 2026 08:05:09 GMT`. Cut to the
    /// second.
    public var httpDate: String {
        let (day, millisecond) = split()
        return String.ofTime { text in
            text.append(Self.weekdays[Int((day.daysSinceEpoch % 7 + 11) % 7)])
            text.append(", ")
            text.append(Int64(day.day), digits: 2)
            text.append(" ")
            text.append(Self.months[day.month - 1])
            text.append(" ")
            text.append(day.year, digits: 4)
            text.append(" ")
            text.append(timeOfDay: millisecond / 1000)
            text.append(" GMT")
        }
    }

    /// Reads an HTTP date in any of the three forms that RFC 9110 §5.6.7 has a recipient accept: IMF-fixdate, RFC 850
    /// and asctime. `nil` for anything else.
    ///
    /// - Parameter now: decides the century of an RFC 850 date's two-digit year: one that would lie more than 50 years
    ///   ahead of it is the most recent past year with the same last two digits.
    public init?(httpDate text: String, now: Timestamp) {
        if let instant = Timestamp(fixedDate: text) {
            self = instant
            return
        }
        let words = text.split(whereSeparator: { $0 == " " })
        switch words.count {
        case 6 where words[0].hasSuffix(",") && words[0].count == 4 && words[5] == "GMT":
            guard words[1].count == 2, words[3].count == 4,
                let instant = Timestamp(day: words[1], month: words[2], year: Int64(digits: words[3]), time: words[4])
            else { return nil }
            self = instant
        case 4 where words[0].hasSuffix(",") && words[3] == "GMT":
            let parts = words[1].split(separator: "-", omittingEmptySubsequences: false)
            guard parts.count == 3, parts[0].count == 2, parts[2].count == 2, let short = Int64(digits: parts[2])
            else { return nil }
            let thisYear = now.split().day.year
            var year = thisYear - thisYear % 100 + short
            if year > thisYear + 50 { year -= 100 }
            guard let instant = Timestamp(day: parts[0], month: parts[1], year: year, time: words[2]) else {
                return nil
            }
            self = instant
        case 5 where words[0].count == 3:
            guard words[4].count == 4,
                let instant = Timestamp(day: words[2], month: words[1], year: Int64(digits: words[4]), time: words[3])
            else { return nil }
            self = instant
        default:
            return nil
        }
    }

    /// An IMF-fixdate, without taking the text apart: nearly every date is one, and each answer of an origin has some
    /// that are read several times. `nil` says nothing: the general reader decides.
    private init?(fixedDate text: String) {
        let form = "Sun, 06 Nov 1994 08:49:37 GMT".utf8
        guard text.utf8.count == form.count else { return nil }
        let read: Timestamp?? = text.utf8.withContiguousStorageIfAvailable { bytes in
            func number(_ places: Range<Int>) -> Int64? {
                var value: Int64 = 0
                for place in places {
                    guard case 0x30...0x39 = bytes[place] else { return nil }
                    value = value * 10 + Int64(bytes[place] - 0x30)
                }
                return value
            }
            func holds(_ text: StaticString, at place: Int) -> Bool {
                memcmp(bytes.baseAddress! + place, text.utf8Start, text.utf8CodeUnitCount) == 0
            }
            guard bytes[..<3].allSatisfy({ $0 > 0x20 && $0 < 0x7F }), holds(", ", at: 3), holds(" ", at: 7),
                holds(" ", at: 11), holds(" ", at: 16), holds(":", at: 19), holds(":", at: 22), holds(" GMT", at: 25),
                let day = number(5..<7), let year = number(12..<16), let hour = number(17..<19),
                let minute = number(20..<22), let second = number(23..<25), hour < 24, minute < 60, second <= 60,
                let month = Self.months.firstIndex(where: { name in name.utf8.elementsEqual(bytes[8..<11]) })
            else { return nil }
            let civil = CivilDay(year: year, month: month + 1, day: Int(day))
            guard civil.exists else { return nil }
            return Timestamp(seconds: civil.daysSinceEpoch * 86_400 + hour * 3600 + minute * 60 + second)
        }
        guard let instant = read ?? nil else { return nil }
        self = instant
    }

    /// The day, and the milliseconds since its midnight.
    private func split() -> (day: CivilDay, millisecond: Int64) {
        let perDay: Int64 = 86_400_000
        var days = milliseconds / perDay
        var rest = milliseconds % perDay
        if rest < 0 {
            rest += perDay
            days -= 1
        }
        return (CivilDay(daysSinceEpoch: days), rest)
    }

    private init?(day: Substring, month: Substring, year: Int64?, time: Substring) {
        // Any number of digits would be a day of any size, and days are added up below.
        guard day.utf8.count <= 2, let dayNumber = Int64(digits: day), let year,
            let monthIndex = Self.months.firstIndex(of: String(month))
        else { return nil }
        let civil = CivilDay(year: year, month: monthIndex + 1, day: Int(dayNumber))
        let clock = time.split(separator: ":", omittingEmptySubsequences: false)
        guard civil.exists, clock.count == 3, clock.allSatisfy({ $0.count == 2 }),
            let hour = Int64(digits: clock[0]), let minute = Int64(digits: clock[1]),
            let second = Int64(digits: clock[2]), hour < 24, minute < 60, second <= 60
        else { return nil }
        self.init(seconds: civil.daysSinceEpoch * 86_400 + hour * 3600 + minute * 60 + second)
    }

    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    private static let weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
}

extension String {
    /// A text of a time, written in place: each answer has some, and strings that are put together one digit after the
    /// other cost many times as much.
    fileprivate static func ofTime(_ write: (inout TimeText) -> Void) -> String {
        String(unsafeUninitializedCapacity: TimeText.capacity) { buffer in
            var text = TimeText(buffer: buffer)
            write(&text)
            return text.count
        }
    }
}

/// The bytes of a text of a time.
private struct TimeText {
    /// Enough for any year that a timestamp can be in.
    static let capacity = 48

    let buffer: UnsafeMutableBufferPointer<UInt8>
    var count = 0

    mutating func append(_ text: String) {
        for byte in text.utf8 { append(byte) }
    }

    /// A number with zeros in front; a longer or a negative one as it is.
    mutating func append(_ number: Int64, digits: Int) {
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

    mutating func append(timeOfDay second: Int64) {
        append(second / 3600, digits: 2)
        append(":")
        append(second / 60 % 60, digits: 2)
        append(":")
        append(second % 60, digits: 2)
    }

    private mutating func append(_ byte: UInt8) {
        buffer[count] = byte
        count += 1
    }
}
