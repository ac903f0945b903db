extension Timestamp {
    /// The instant in RFC 3339, in UTC with milliseconds: `2026-01-31T08:05:09.250Z`. Every time in the API has this
    /// form.
    package var rfc3339: String {
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

    /// The instant as an HTTP date in the preferred form, IMF-fixdate (RFC 9110 §5.6.7): `Sat, 31 Jan 2026 08:05:09
    /// GMT`. The fraction of the second is cut off.
    package var httpDate: String {
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
    /// Builds the text of a time in place. Every response has several of them, and building a string digit by digit
    /// costs many times as much.
    fileprivate static func ofTime(_ write: (inout TimeText) -> Void) -> String {
        String(unsafeUninitializedCapacity: TimeText.capacity) { buffer in
            var text = TimeText(buffer: buffer)
            write(&text)
            return text.count
        }
    }
}

/// The buffer in which the text of a time is built.
private struct TimeText {
    /// Enough bytes for any year that a timestamp can have.
    static let capacity = 48

    let buffer: UnsafeMutableBufferPointer<UInt8>
    var count = 0

    mutating func append(_ text: String) {
        for byte in text.utf8 { append(byte) }
    }

    /// Appends a number, padded with zeros to `digits` digits. A longer number is not cut. A negative number keeps its
    /// sign, behind the padding.
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
