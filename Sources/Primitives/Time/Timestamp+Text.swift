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
    /// digit, a zone other than GMT, or a weekday in the spelling of another form. The weekday need not fit the date.
    /// An RFC 850 date more than 50 years after `now` is in the most recent past year with the same last two digits.
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

    /// Pads a number with zeros. A longer number is not cut. A negative number keeps its sign, behind the padding.
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

    /// The second of the day from text such as `08:49:37`. A leap second counts as the first second of the next minute.
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

    /// Skips `text` if the next bytes match it, letters in either case; returns whether they do.
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

    /// Three letters as one number, the same in either case. Setting bit 0x20 turns no other byte into a letter.
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
    /// The rest of each weekday's name, behind its first three letters, in an RFC 850 date.
    private static let weekdayEndings: [StaticString] = ["day", "day", "sday", "nesday", "rsday", "day", "urday"]
}
