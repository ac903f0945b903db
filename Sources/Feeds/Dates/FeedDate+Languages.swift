import Primitives

/// Dates with the month names of other languages. The texts are in lower case.
extension FeedDate {
    /// `2004-július-13T9:15-05:00`
    static func hungarian(_ line: String) -> Timestamp? {
        let parts = line.split(separator: "-", maxSplits: 2)
        guard parts.count == 3, let month = hungarianMonths.firstIndex(of: String(parts[1])) else { return nil }
        return w3c("\(parts[0])-\(month + 1)-\(parts[2])")
    }

    /// `Κυρ, 11 Ιούλ 2004 12:00:00 EST`
    static func greek(_ words: [String]) -> Timestamp? {
        guard words.count == 6, words[0].hasSuffix(","), greekWeekdays.contains(String(words[0].dropLast())),
            let month = greekMonths[words[2]]
        else { return nil }
        return rfc822([words[1], month] + words[3...])
    }

    /// `2004년 05월 28일 01:31:15` and `2004-05-25 오후 11:23:17`, in Korea's time.
    static func korean(_ words: [String]) -> Timestamp? {
        let zone = 9 * 3600
        if words.count == 4, words[0].hasSuffix("년"), words[1].hasSuffix("월"), words[2].hasSuffix("일") {
            let date = words[..<3].compactMap { Int(digits: $0.dropLast()) }
            var scanner = DateScanner(words[3])
            guard date.count == 3, let second = scanner.time(), scanner.isAtEnd else { return nil }
            return Timestamp(year: date[0], month: date[1], day: date[2], secondOfDay: second - zone)
        }
        guard words.count == 3, words[1] == "오전" || words[1] == "오후" else { return nil }
        let date = words[0].split(separator: "-").compactMap { Int(digits: $0) }
        var scanner = DateScanner(words[2])
        guard date.count == 3, var second = scanner.time(), scanner.isAtEnd else { return nil }
        let noon = 12 * 3600
        if words[1] == "오후", second < noon { second += noon }
        return Timestamp(year: date[0], month: date[1], day: date[2], secondOfDay: second - zone)
    }

    private static let hungarianMonths = [
        "január", "februári", "március", "április", "máujus", "június", "július", "augusztus", "szeptember", "október",
        "november", "december",
    ]
    private static let greekWeekdays: Set<String> = ["κυρ", "δευ", "τρι", "τετ", "πεμ", "παρ", "σαβ"]
    private static let greekMonths: [String: String] = [
        "ιαν": "jan", "φεβ": "feb", "μάώ": "mar", "μαώ": "mar", "μαρ": "mar", "μάρ": "mar", "απρ": "apr", "μάι": "may",
        "μαϊ": "may", "μαι": "may", "ιούν": "jun", "ιον": "jun", "ιουν": "jun", "ιούλ": "jul", "ιολ": "jul",
        "ιουλ": "jul", "αύγ": "aug", "αυγ": "aug", "σεπ": "sep", "οκτ": "oct", "νοέ": "nov", "νοε": "nov", "δεκ": "dec",
    ]
}
