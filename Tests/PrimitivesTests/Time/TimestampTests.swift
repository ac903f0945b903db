import Foundation
import Primitives
import Testing

@Suite("Timestamps")
struct TimestampTests {
    @Test(
        "An instant is written in RFC 3339 with milliseconds",
        arguments: [
            (0, "1970-01-01T00:00:00.000Z"), (1, "1970-01-01T00:00:00.001Z"), (-1, "1969-12-31T23:59:59.999Z"),
            (-1000, "1969-12-31T23:59:59.000Z"), (-86_400_000, "1969-12-31T00:00:00.000Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"), (951_868_799_999, "2000-02-29T23:59:59.999Z"),
            (951_868_800_000, "2000-03-01T00:00:00.000Z"), (-2_203_891_200_000, "1900-03-01T00:00:00.000Z"),
            (-2_203_891_200_001, "1900-02-28T23:59:59.999Z"), (1_709_208_000_000, "2024-02-29T12:00:00.000Z"),
            (1_769_846_709_250, "2026-01-31T08:05:09.250Z"), (2_147_483_648_000, "2038-01-19T03:14:08.000Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"), (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
        ] as [(Int64, String)])
    func rfc3339(milliseconds: Int64, text: String) {
        #expect(Timestamp(milliseconds: milliseconds).rfc3339 == text)
    }

    @Test(
        "An instant is written as an IMF-fixdate, truncated to the second (RFC 9110 §5.6.7)",
        arguments: [
            (784_111_777_000, "Sun, 06 Nov 1994 08:49:37 GMT"), (784_111_777_999, "Sun, 06 Nov 1994 08:49:37 GMT"),
            (0, "Thu, 01 Jan 1970 00:00:00 GMT"), (-1000, "Wed, 31 Dec 1969 23:59:59 GMT"),
            (951_782_400_000, "Tue, 29 Feb 2000 00:00:00 GMT"), (253_402_300_799_999, "Fri, 31 Dec 9999 23:59:59 GMT"),
        ] as [(Int64, String)])
    func httpDate(milliseconds: Int64, text: String) {
        #expect(Timestamp(milliseconds: milliseconds).httpDate == text)
    }

    @Test("Years of five digits are written in full, up to the last instant that a Timestamp can hold")
    func strangeYears() {
        let next = Timestamp(milliseconds: 253_402_300_800_000)
        #expect(next.rfc3339 == "10000-01-01T00:00:00.000Z")
        #expect(next.httpDate == "Sat, 01 Jan 10000 00:00:00 GMT")
        for end in [Int64.min, .max] {
            let instant = Timestamp(milliseconds: end)
            #expect(instant.rfc3339.hasSuffix("Z") && instant.httpDate.hasSuffix(" GMT"))
        }
    }

    @Test("From 1600 to 9999, RFC 3339 texts equal Foundation's, and written HTTP dates are read as the same instants")
    func agreesWithFoundation() {
        let rfc3339 = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<2_000 {
            // The range begins in 1600, because Foundation counts by the Julian calendar before 1582.
            let seconds = Int64.random(in: -11_676_096_000...253_402_300_799, using: &generator)
            let instant = Timestamp(seconds: seconds)
            #expect(instant.rfc3339 == Date(timeIntervalSince1970: Double(seconds)).formatted(rfc3339))
            #expect(Timestamp(httpDate: instant.httpDate, now: Timestamp(seconds: 0)) == instant)
        }
    }

    private static let example = Timestamp(seconds: 784_111_777)
    private let now = Timestamp(seconds: 1_767_225_600)

    @Test(
        "All three forms of an HTTP date are read (RFC 9110 §5.6.7)",
        arguments: [
            ("Sun, 06 Nov 1994 08:49:37 GMT", example), ("Sunday, 06-Nov-94 08:49:37 GMT", example),
            ("Sun Nov  6 08:49:37 1994", example), ("Sun Nov 16 08:49:37 1994", Timestamp(seconds: 784_975_777)),
            ("Thu, 29 Feb 2024 00:00:00 GMT", Timestamp(seconds: 1_709_164_800)),
            ("Tue, 29 Feb 2000 00:00:00 GMT", Timestamp(seconds: 951_782_400)),
            ("Fri, 31 Dec 9999 23:59:59 GMT", Timestamp(seconds: 253_402_300_799)),
            // RFC 9111 §4.2: a cache matches letters in either case.
            ("sun, 06 nov 1994 08:49:37 gmt", example), ("SUN, 06 NOV 1994 08:49:37 GMT", example),
            ("sUNDAY, 06-nOV-94 08:49:37 Gmt", example), ("sun nov  6 08:49:37 1994", example),
            ("Sun Nov 06 08:49:37 1994", example), ("Wednesday, 09-Nov-94 08:49:37 GMT", example + .seconds(259_200)),
            // A wrong weekday is ignored.
            ("Mon, 06 Nov 1994 08:49:37 GMT", example),
            // A leap second is the first second of the next minute.
            ("Sat, 31 Dec 2016 23:59:60 GMT", Timestamp(seconds: 1_483_228_800)),
        ])
    func httpDates(text: String, instant: Timestamp) {
        #expect(Timestamp(httpDate: text, now: now) == instant)
    }

    @Test("A two-digit year is read as at most 50 years in the future (RFC 9110 §5.6.7)")
    func twoDigitYears() throws {
        func year(_ digits: String, now: String) throws -> String {
            let now = try #require(Timestamp(httpDate: "Thu, 01 Jan \(now) 00:00:00 GMT", now: Timestamp(seconds: 0)))
            let instant = try #require(Timestamp(httpDate: "Thursday, 01-Jan-\(digits) 00:00:00 GMT", now: now))
            return String(instant.rfc3339.prefix(4))
        }
        #expect(try year("26", now: "2026") == "2026")
        #expect(try year("76", now: "2026") == "2076")
        #expect(try year("77", now: "2026") == "1977")
        #expect(try year("00", now: "2026") == "2000")
        #expect(try year("94", now: "2026") == "1994")
        // The year alone does not decide: 2 January 2076 is more than 50 years after 1 January 2026.
        for (text, expected) in [("Thursday, 02-Jan-76", "1976"), ("Tuesday, 31-Dec-75", "2075")] {
            let instant = try #require(Timestamp(httpDate: text + " 00:00:00 GMT", now: now))
            #expect(instant.rfc3339.hasPrefix(expected))
        }
    }

    @Test(
        "A text that is not an HTTP date is refused",
        arguments: [
            "", " ", "0", "-1", "now", "1767225600", "2026-01-01T00:00:00Z", "Sun, 06 Nov 1994 08:49:37",
            "Sun, 06 Nov 1994 08:49:37 UTC", "Sun, 06 Nov 1994 08:49:37 GM", "Sun, 06 Nov 1994 08:49:37 +0000",
            "Sun, 06 Nov 1994 08:49:37 GMT+1", "Sun, 06 Nov 1994 08:49:37 GMT x", "06 Nov 1994 08:49:37 GMT",
            "Sun, 6 Nov 1994 08:49:37 GMT", "Sun, 006 Nov 1994 08:49:37 GMT", "Sun, 00 Nov 1994 08:49:37 GMT",
            "Sun, 31 Nov 1994 08:49:37 GMT", "Thu, 29 Feb 2023 00:00:00 GMT", "Thu, 29 Feb 1900 00:00:00 GMT",
            "Sun, 06 Nox 1994 08:49:37 GMT", "Sun, 06 November 1994 08:49:37 GMT", "Sun, 06 13 1994 08:49:37 GMT",
            "Sun, 06 Nov 94 08:49:37 GMT", "Sun, 06 Nov 01994 08:49:37 GMT", "Sun, 06 Nov -994 08:49:37 GMT",
            "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Nov 1994 08:60:00 GMT", "Sun, 06 Nov 1994 08:49:61 GMT",
            "Sun, 06 Nov 1994 8:49:37 GMT", "Sun, 06 Nov 1994 08:49 GMT", "Sun, 06 Nov 1994 08:49:37.5 GMT",
            "Sun, +6 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:+7 GMT", "Sun, 06 Nov 1994 08::37 GMT",
            "Sunday, 06-Nov-1994 08:49:37 GMT", "Sunday, 6-Nov-94 08:49:37 GMT", "Sunday, 06-Nov 08:49:37 GMT",
            "Sun Nov 6 08:49:37 94", "Sun Nov 6 08:49:37 1994 GMT", "Sun Nov 08:49:37 1994", "Sun, Nov 6 08:49:37 1994",
            "Sun, ٠٦ Nov 1994 08:49:37 GMT",
            // White space is allowed only where the grammar has it.
            "Sun,  06 Nov 1994 08:49:37 GMT", "Sun, 06  Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37  GMT",
            "Sun,06 Nov 1994 08:49:37 GMT", " Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 GMT ",
            "Sun,\t06 Nov 1994 08:49:37 GMT", "Sun, 06-Nov-1994 08:49:37 GMT", "Sunday,  06-Nov-94 08:49:37 GMT",
            "Sun  Nov  6 08:49:37 1994", "Sun Nov 6 08:49:37 1994", "Sun Nov   6 08:49:37 1994",
            "Sun Nov  06 08:49:37 1994", "Sun Nov  6  08:49:37 1994",
            // The weekday must be spelled as its form of date requires.
            "Sunday, 06 Nov 1994 08:49:37 GMT", "Sun, 06-Nov-94 08:49:37 GMT", "Sunday Nov  6 08:49:37 1994",
            "Sux, 06 Nov 1994 08:49:37 GMT", "Sunsday, 06-Nov-94 08:49:37 GMT", "Tueday, 08-Nov-94 08:49:37 GMT",
            "Su, 06 Nov 1994 08:49:37 GMT", ", 06 Nov 1994 08:49:37 GMT", "Sun. 06 Nov 1994 08:49:37 GMT",
            // Bytes that differ from a letter or from punctuation only in the bit of the case.
            "Sun, 06 Nov 1994 08:49:37\u{0}GMT", "Sun\u{c} 06 Nov 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 08\u{1a}49:37 GMT",
        ])
    func invalid(text: String) {
        #expect(Timestamp(httpDate: text, now: now) == nil)
    }

    @Test(
        "A date with an oversized number is refused, and no calculation overflows",
        arguments: [
            "999", "999999999999999999", "9223372036854775807", "9223372036854775808",
            String(repeating: "9", count: 400),
        ])
    func longNumbers(number: String) {
        for text in [
            "Sun Nov \(number) 08:49:37 1994", "Sun Nov 6 08:49:37 \(number)", "Sun, \(number) Nov 1994 08:49:37 GMT",
            "Sun, 06 Nov \(number) 08:49:37 GMT", "Sun, 06 Nov 1994 \(number):49:37 GMT",
            "Sunday, \(number)-Nov-94 08:49:37 GMT", "Sunday, 06-Nov-\(number) 08:49:37 GMT",
        ] {
            #expect(Timestamp(httpDate: text, now: now) == nil)
        }
    }

    @Test("An instant plus a duration is at most the distant future")
    func arithmetic() {
        let instant = Timestamp(milliseconds: 1000)
        #expect(instant + .milliseconds(500) == Timestamp(milliseconds: 1500))
        #expect(instant - .milliseconds(1500) == Timestamp(milliseconds: -500))
        #expect(instant - Timestamp(milliseconds: 3500) == .milliseconds(-2500))
        #expect(instant + .microseconds(1999) == Timestamp(milliseconds: 1001))
        #expect(instant + .seconds(Int64.max) == .distantFuture)
        #expect(Timestamp.distantFuture + .milliseconds(1) == .distantFuture)
        #expect(instant < Timestamp(milliseconds: 1001))
        #expect(Timestamp.distantFuture.rfc3339 == "9999-12-31T23:59:59.999Z")
    }

    @Test("A duration in milliseconds is truncated towards zero, and saturates")
    func durations() {
        #expect(Duration.microseconds(1999).milliseconds == 1)
        #expect(Duration.microseconds(-1999).milliseconds == -1)
        #expect(Duration.seconds(Int64.max).milliseconds == .max)
        #expect(Duration.seconds(Int64.min).milliseconds == .min)
        #expect(Duration.milliseconds(1500).inSeconds == 1.5)
    }

    @Test("Any number of seconds, even an infinite number, becomes a valid duration")
    func clampedSeconds() {
        #expect(Duration.clamping(seconds: 1.5) == .milliseconds(1500))
        for seconds in [-1.5, -1e300, -Double.infinity, Double.nan, -0.0] {
            #expect(Duration.clamping(seconds: seconds) == .zero)
        }
        for seconds in [1e12, 1e19, 1e300, Double.infinity] {
            #expect(Duration.clamping(seconds: seconds) == .seconds(315_569_520_000))
        }
    }

    @Test("The system clock shows the machine's time")
    func systemClock() {
        let before = Int64(time(nil))
        let now = SystemClock().now()
        let after = Int64(time(nil))
        // time() reads a coarser clock, which may be a few milliseconds behind.
        #expect(now.milliseconds / 1000 >= before)
        #expect(now.milliseconds / 1000 <= after + 1)
    }
}
