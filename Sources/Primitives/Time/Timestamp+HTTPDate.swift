extension Timestamp {
    /// Reads an HTTP date in any of the three forms that RFC 9110 §5.6.7 requires a recipient to accept: IMF-fixdate,
    /// RFC 850 and asctime. Letters match in either case, as RFC 9111 §4.2 asks of caches. `nil` for any other text,
    /// such as a second space, a day of one digit, a zone other than GMT, or a weekday in the spelling of another form.
    /// A weekday that does not fit the date is accepted.
    ///
    /// - Parameter now: decides the century of an RFC 850 date's two-digit year: a date more than 50 years after `now`
    ///   is in the most recent past year with the same last two digits.
    package init?(httpDate text: String, now: Timestamp) {
        var text = text
        let instant = text.withUTF8 { bytes in
            var reader = HTTPDateReader(bytes: bytes)
            return reader.instant(now: now)
        }
        guard let instant else { return nil }
        self = instant
    }
}

/// Reads the bytes of an HTTP date once, from left to right. The reader allocates no memory, because every response of
/// an origin has several dates, and each is read more than once.
private struct HTTPDateReader {
    let bytes: UnsafeBufferPointer<UInt8>
    private var position = 0

    init(bytes: UnsafeBufferPointer<UInt8>) {
        self.bytes = bytes
    }

    /// The instant; `nil` when the bytes follow none of the three forms, or give a day that does not exist.
    mutating func instant(now: Timestamp) -> Timestamp? {
        guard let weekday = index(in: Self.weekdays) else { return nil }
        let instant: Timestamp?
        if take(", ") {
            instant = restOfFixedDate()
        } else if take(" ") {
            instant = restOfCTime()
        } else if take(Self.weekdayEndings[weekday]), take(", ") {
            instant = restOfRFC850Date(now: now)
        } else {
            return nil
        }
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

    // MARK: - Parts

    /// Reads a number of exactly `digits` digits.
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

    /// Reads three letters, in either case; returns the index of the name that they match, and `nil` when none matches.
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
