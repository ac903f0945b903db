/// Reads a date from its beginning to its end. The text is in lower case, without white space at its ends.
struct DateScanner {
    private let bytes: [UInt8]
    private var index = 0

    init(_ text: String) {
        bytes = Array(text.utf8)
    }

    var isAtEnd: Bool { index == bytes.count }

    mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard index < bytes.count, bytes[index] == UInt8(ascii: character) else { return false }
        index += 1
        return true
    }

    /// Returns whether there was white space.
    mutating func skipSpace() -> Bool {
        let start = index
        while index < bytes.count, bytes[index] <= 0x20 { index += 1 }
        return index > start
    }

    /// A number with as many digits as `count` permits; `nil` if there are fewer.
    mutating func number(_ count: ClosedRange<Int>) -> Int? {
        let digits = bytes[index...].prefix(count.upperBound).prefix { (0x30...0x39).contains($0) }
        guard digits.count >= count.lowerBound else { return nil }
        index = digits.endIndex
        return digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
    }

    mutating func number(_ count: Int) -> Int? { number(count...count) }

    /// A time such as `8`, `08:05`, `08:05:09` or `08:05:09.25`, in seconds since midnight. A fraction is ignored.
    mutating func time() -> Int? {
        guard let hour = number(1...2), hour < 24 else { return nil }
        var (minute, second) = (0, 0)
        if take(":") {
            guard let found = number(1...2), found < 60 else { return nil }
            minute = found
            if take(":") {
                guard let found = number(1...2), found < 60 else { return nil }
                second = found
                if take(".") || take(",") {
                    guard number(1...18) != nil else { return nil }
                    while number(1) != nil {}
                }
            }
        }
        return (hour * 60 + minute) * 60 + second
    }

    /// The rest as a zone, in seconds east of Greenwich: `z`, `+01:00`, `-0530`, `gmt+2` or a name of ``DateZone``.
    /// Unknown names, and no zone at all, mean UTC.
    mutating func zone() -> Int? {
        if index + 3 < bytes.count, bytes[index...].starts(with: "gmt".utf8) || bytes[index...].starts(with: "utc".utf8)
        {
            index += 3
        }
        let isNegative = take("-")
        if isNegative || take("+") {
            guard let hour = number(1...2) else { return nil }
            var minute = 0
            _ = take(":")
            if !isAtEnd {
                guard let found = number(1...2) else { return nil }
                minute = found
            }
            guard isAtEnd else { return nil }
            return (isNegative ? -1 : 1) * (hour * 60 + minute) * 60
        }
        let name = String(decoding: bytes[index...], as: UTF8.self)
        guard name.utf8.allSatisfy({ !(0x30...0x39).contains($0) && $0 > 0x20 }) || name == "0000" else { return nil }
        index = bytes.count
        return (DateZone.hours[name] ?? 0) * 3600
    }
}

/// The zones of RFC 822 §5, and some others of feeds.
enum DateZone {
    /// Hours east of Greenwich.
    static let hours: [String: Int] = [
        "ut": 0, "gmt": 0, "z": 0, "adt": -3, "ast": -4, "at": -4, "edt": -4, "est": -5, "et": -5, "cdt": -5, "cst": -6,
        "ct": -6, "mdt": -6, "mst": -7, "mt": -7, "pdt": -7, "pst": -8, "pt": -8, "a": -1, "n": 1, "m": -12, "y": 12,
        "met": 1, "mest": 2,
    ]
}
