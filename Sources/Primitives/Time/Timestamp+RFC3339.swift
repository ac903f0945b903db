extension Timestamp {
    /// Reads a time in UTC such as `2026-01-31T08:05:09Z` or `2026-01-31T08:05:09.250Z` (RFC 3339 §5.6). Digits behind
    /// the millisecond are ignored. `nil` for any other text, and for a day or time that does not exist.
    package init?(rfc3339 text: String) {
        let bytes = Array(text.utf8)
        func number(_ range: Range<Int>) -> Int64? {
            bytes[range].allSatisfy(\.isDigit) ? Int64(String(decoding: bytes[range], as: UTF8.self)) : nil
        }
        guard bytes.count >= 20, bytes.last == UInt8(ascii: "Z"), bytes[4] == UInt8(ascii: "-"),
            bytes[7] == UInt8(ascii: "-"), bytes[10] == UInt8(ascii: "T"), bytes[13] == UInt8(ascii: ":"),
            bytes[16] == UInt8(ascii: ":"), let year = number(0..<4), let month = number(5..<7),
            let day = number(8..<10), let hour = number(11..<13), let minute = number(14..<16),
            let second = number(17..<19), hour < 24, minute < 60, second < 60
        else { return nil }
        let civil = CivilDay(year: year, month: Int(month), day: Int(day))
        guard civil.exists else { return nil }
        var millisecond: Int64 = 0
        if bytes.count > 20 {
            let digits = bytes[20..<bytes.count - 1]
            guard bytes[19] == UInt8(ascii: "."), !digits.isEmpty, digits.allSatisfy(\.isDigit) else { return nil }
            for place in 0..<3 {
                millisecond = millisecond * 10 + Int64(place < digits.count ? digits[20 + place] - 0x30 : 0)
            }
        }
        let seconds = ((civil.daysSinceEpoch * 24 + hour) * 60 + minute) * 60 + second
        self.init(milliseconds: seconds * 1000 + millisecond)
    }
}
