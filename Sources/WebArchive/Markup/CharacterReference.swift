import Primitives

/// Decodes the character references in attribute values and in text (WHATWG HTML §13.2.5.72).
enum CharacterReference {
    /// The places where browsers decode character references.
    enum Place {
        /// A name without a semicolon is no reference if an equals sign or an alphanumeric character follows, as in
        /// `?a=1&copy=2`.
        case attribute
        case text
    }

    /// More bytes than the longest name has.
    private static let nameLimit = 40
    private static let all = table()
    /// The names that need no semicolon.
    private static let loose = Set(CharacterNames.loose.split(separator: " ").map(String.init))
    private static let longestLoose = 6

    private static func table() -> [String: [UInt8]] {
        let words = CharacterNames.all.split(separator: " ")
        return Dictionary(
            uniqueKeysWithValues: stride(from: 0, to: words.count, by: 2).map { index in
                let points = words[index + 1].split(separator: "+").map { Unicode.Scalar(UInt32($0, radix: 16)!)! }
                return (String(words[index]), points.flatMap { Array(UTF8.encode($0)!) })
            })
    }

    /// The characters in place of the references `&#x80;` to `&#x9f;`, which browsers read as Windows-1252.
    private static let windows: [UInt32] = [
        0x20ac, 0x81, 0x201a, 0x192, 0x201e, 0x2026, 0x2020, 0x2021, 0x2c6, 0x2030, 0x160, 0x2039, 0x152, 0x8d, 0x17d,
        0x8f, 0x90, 0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014, 0x2dc, 0x2122, 0x161, 0x203a, 0x153, 0x9d,
        0x17e, 0x178,
    ]

    /// Reads a reference at the ampersand at `start`. Returns its text and the index behind it; `nil` if the
    /// ampersand is a plain character.
    static func decode(_ bytes: Span<UInt8>, at start: Int, in place: Place) -> (text: [UInt8], end: Int)? {
        guard start + 1 < bytes.count else { return nil }
        if bytes[start + 1] == UInt8(ascii: "#") { return number(bytes, from: start + 2) }
        return name(bytes, from: start + 1, in: place)
    }

    private static func number(_ bytes: Span<UInt8>, from start: Int) -> (text: [UInt8], end: Int)? {
        guard start < bytes.count else { return nil }
        let isHex = bytes[start].lowercased == UInt8(ascii: "x")
        var index = isHex ? start + 1 : start
        let first = index
        var value: UInt32 = 0
        while index < bytes.count, let digit = bytes[index].hexDigitValue, isHex || digit < 10 {
            value = min(value * (isHex ? 16 : 10) + UInt32(digit), 0x110000)
            index += 1
        }
        guard index > first else { return nil }
        if index < bytes.count, bytes[index] == UInt8(ascii: ";") { index += 1 }
        if (0x80...0x9f).contains(value) { value = windows[Int(value) - 0x80] }
        let scalar = value == 0 ? "\u{fffd}" : Unicode.Scalar(value) ?? "\u{fffd}"
        return (Array(UTF8.encode(scalar)!), index)
    }

    private static func name(_ bytes: Span<UInt8>, from start: Int, in place: Place) -> (text: [UInt8], end: Int)? {
        var end = start
        while end < bytes.count, end - start < nameLimit, bytes[end].isAlphanumeric { end += 1 }
        guard end > start else { return nil }
        if end < bytes.count, bytes[end] == UInt8(ascii: ";"), let found = all[bytes.text(start..<end)] {
            return (found, end + 1)
        }
        if place == .attribute {
            // A shorter name has an alphanumeric character behind it.
            guard end - start <= longestLoose, end == bytes.count || bytes[end] != UInt8(ascii: "=") else { return nil }
            return looseName(bytes, start..<end)
        }
        for length in stride(from: min(longestLoose, end - start), to: 1, by: -1) {
            if let found = looseName(bytes, start..<start + length) { return found }
        }
        return nil
    }

    private static func looseName(_ bytes: Span<UInt8>, _ range: Range<Int>) -> (text: [UInt8], end: Int)? {
        let name = bytes.text(range)
        guard loose.contains(name) else { return nil }
        return all[name].map { ($0, range.upperBound) }
    }
}
