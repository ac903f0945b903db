import Primitives

/// Reads the dates of feeds: W3C date and time (RFC 3339), RFC 822 with its usual deviations, other forms of ISO 8601,
/// asctime, and some forms of blog services.
enum FeedDate {
    /// `nil` for a text without a date, and for a day or time that does not exist. Fractions of a second are ignored. A
    /// date without a time means its first second, and a time without a zone is in UTC.
    static func parse(_ text: String) -> Timestamp? {
        guard text.utf8.count <= 200, !hasManyAccents(text) else { return nil }
        let words = text.lowercased().split { $0.isWhitespace }.map(String.init)
        guard !words.isEmpty else { return nil }
        let line = words.joined(separator: " ")
        return w3c(line) ?? rfc822(words) ?? compact(line) ?? asctime(words) ?? slashes(words) ?? hungarian(line)
            ?? greek(words) ?? korean(words)
    }

    /// Whether a text has more combining marks than a date in any language. `String` takes long to compare them.
    private static func hasManyAccents(_ text: String) -> Bool {
        var count = 0
        for scalar in text.unicodeScalars where !scalar.isASCII {
            if scalar.properties.canonicalCombiningClass != .notReordered { count += 1 }
        }
        return count > 8
    }

    /// `2003`, `2003-12`, `2003-12-31`, `2003-12-31T10:14:55Z`, `2003-12-31 10:14:55 +01:00`
    static func w3c(_ line: String) -> Timestamp? {
        var scanner = DateScanner(line)
        guard let year = scanner.number(4) else { return nil }
        var (month, day) = (1, 1)
        if scanner.take("-") {
            guard let found = scanner.number(1...2) else { return nil }
            month = found
            if scanner.take("-") {
                guard let found = scanner.number(1...2) else { return nil }
                day = found
            }
        }
        guard let second = timeAndZone(&scanner) else { return nil }
        return Timestamp(year: year, month: month, day: day, secondOfDay: second)
    }

    /// The rest of a date, in seconds: a time with a zone, or an empty text.
    private static func timeAndZone(_ scanner: inout DateScanner) -> Int? {
        if scanner.isAtEnd { return 0 }
        guard scanner.take("t") || scanner.skipSpace() else { return scanner.take("z") && scanner.isAtEnd ? 0 : nil }
        guard let second = scanner.time() else { return nil }
        _ = scanner.skipSpace()
        guard let zone = scanner.zone() else { return nil }
        return second - zone
    }

    /// `Thu, 01 Jan 2004 19:48:21 GMT`. The weekday, the time and the zone may be missing, day and month may be
    /// swapped, and the month may be written in full.
    static func rfc822(_ words: [String]) -> Timestamp? {
        var words = words
        if weekdays.contains(String(words[0].prefix(3))) {
            // A space may be missing behind the comma.
            let rest = words[0].split(separator: ",", maxSplits: 1).dropFirst().first.map(String.init)
            words.replaceSubrange(0...0, with: rest.map { [$0] } ?? [])
        }
        guard (3...5).contains(words.count) || words.count > 5 else { return nil }
        let month: Int?
        var day = Int(digits: words[0])
        if day != nil {
            month = Self.month(words[1])
        } else {
            month = Self.month(words[0])
            day = Int(digits: words[1])
        }
        guard let month, let day, var year = Int(digits: words[2]) else { return nil }
        if words[2].utf8.count <= 2 { year += year < 90 ? 2000 : 1900 }
        var second = 0
        if words.count > 3 {
            var scanner = DateScanner(words[3])
            guard let time = scanner.time(), scanner.isAtEnd else { return nil }
            second = time
        }
        if words.count > 4 {
            var scanner = DateScanner(words[4].hasPrefix("etc/") ? String(words[4].dropFirst(4)) : words[4])
            guard let zone = scanner.zone() else { return nil }
            second -= zone
        }
        return Timestamp(year: year, month: month, day: day, secondOfDay: second)
    }

    /// ISO 8601 without hyphens or with the number of a day: `20031231`, `2003-335`, `031231`, `03335T10:14:55Z`.
    static func compact(_ line: String) -> Timestamp? {
        let date = line.prefix { $0 != "t" && $0 != " " }
        var rest = DateScanner(String(line.dropFirst(date.count)))
        let digits = date.filter { $0 != "-" }
        guard digits.utf8.allSatisfy(\.isDigit), let number = Int(digits), let second = timeAndZone(&rest) else {
            return nil
        }
        switch digits.utf8.count {
        case 8:
            return Timestamp(year: number / 10_000, month: number / 100 % 100, day: number % 100, secondOfDay: second)
        case 7: return Timestamp(year: number / 1000, dayOfYear: number % 1000, secondOfDay: second)
        case 6:
            let year = 2000 + number / 10_000
            return Timestamp(year: year, month: number / 100 % 100, day: number % 100, secondOfDay: second)
        case 5: return Timestamp(year: 2000 + number / 1000, dayOfYear: number % 1000, secondOfDay: second)
        default: return nil
        }
    }

    /// `Sun Jan  4 16:29:06 PST 2004`, also without the zone.
    static func asctime(_ words: [String]) -> Timestamp? {
        switch words.count {
        case 5: rfc822([words[0], words[2], words[1], words[4], words[3]])
        case 6: rfc822([words[0], words[2], words[1], words[5], words[3], words[4]])
        default: nil
        }
    }

    /// `Fri, 2006/09/15 08:19:53 EDT`
    static func slashes(_ words: [String]) -> Timestamp? {
        let start = words.count == 4 ? 1 : 0
        guard words.count - start == 3 else { return nil }
        let date = words[start].split(separator: "/").compactMap { Int(digits: $0) }
        guard date.count == 3 else { return nil }
        var scanner = DateScanner(words[start + 1])
        var zone = DateScanner(words[start + 2])
        guard let second = scanner.time(), scanner.isAtEnd, let offset = zone.zone() else { return nil }
        return Timestamp(year: date[0], month: date[1], day: date[2], secondOfDay: second - offset)
    }

    private static let weekdays: Set<String> = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
    private static let months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]

    private static func month(_ word: String) -> Int? {
        months.firstIndex(of: String(word.prefix(3))).map { $0 + 1 }
    }
}
