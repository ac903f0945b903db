import HTTPTypes
import Primitives
import Testing

@testable import HTTPCaching

@Suite("Freshness")
struct FreshnessTests {
    private static let tenHoursAgo = "Last-Modified: " + Sample.date(-36_000)

    @Test(
        "The fields and status of a response decide its lifetime, and whether the lifetime is explicit",
        arguments: [
            // RFC 9111 §4.2.1: the lifetime is s-maxage, else max-age, else Expires − Date.
            (200, ["Cache-Control: max-age=60"], 60, true),
            (200, ["Cache-Control: max-age=60, s-maxage=10"], 10, true),
            (200, ["Expires: " + Sample.date(90)], 90, true),
            (599, ["Cache-Control: max-age=60"], 60, true),
            // An explicit lifetime overrides the heuristic, even if its value is unreadable.
            (200, ["Cache-Control: max-age=60", tenHoursAgo], 60, true),
            (200, ["Cache-Control: max-age=x", tenHoursAgo], 0, true),
            (200, ["Expires: 0", tenHoursAgo], 0, true),
            // RFC 9111 §4.2.2: the heuristic lifetime is a tenth of the time since the last modification.
            (200, [tenHoursAgo], 3600, false),
            (200, [tenHoursAgo, "Cache-Control: no-transform"], 3600, false),
            // The time since the last modification ends at Date, not at receipt.
            (200, [tenHoursAgo, "Date: " + Sample.date(-18_000)], 1800, false),
            // The heuristic lifetime is a week at most, never negative, and zero without a readable date.
            (200, ["Last-Modified: Wed, 01 Jan 2020 00:00:00 GMT"], 604_800, false),
            (200, ["Last-Modified: " + Sample.date(50)], 0, false),
            (200, ["Last-Modified: yesterday"], 0, false),
            (200, [], 0, false),
            (200, ["ETag: \"a\""], 0, false),
            // RFC 9110 §15.1: answers with these statuses have a heuristic lifetime.
            (203, [tenHoursAgo], 3600, false),
            (204, [tenHoursAgo], 3600, false),
            (206, [tenHoursAgo], 3600, false),
            (300, [tenHoursAgo], 3600, false),
            (301, [tenHoursAgo], 3600, false),
            (308, [tenHoursAgo], 3600, false),
            (404, [tenHoursAgo], 3600, false),
            (405, [tenHoursAgo], 3600, false),
            (410, [tenHoursAgo], 3600, false),
            (414, [tenHoursAgo], 3600, false),
            (501, [tenHoursAgo], 3600, false),
            // Answers with other statuses have no heuristic lifetime.
            (201, [tenHoursAgo], 0, false),
            (302, [tenHoursAgo], 0, false),
            (307, [tenHoursAgo], 0, false),
            (403, [tenHoursAgo], 0, false),
            (500, [tenHoursAgo], 0, false),
            (502, [tenHoursAgo], 0, false),
            (503, [tenHoursAgo], 0, false),
            (599, [tenHoursAgo], 0, false),
            // The directive public gives answers with any status a heuristic lifetime (RFC 9111 §4.2.2, §5.2.2.9).
            (302, [tenHoursAgo, "Cache-Control: public"], 3600, false),
            (599, [tenHoursAgo, "Cache-Control: public"], 3600, false),
            (599, ["Cache-Control: public"], 0, false),
            // RFC 9213 §2.2: a targeted field overrides Cache-Control and Expires.
            (200, ["CDN-Cache-Control: max-age=10", "Cache-Control: max-age=60"], 10, true),
            (200, ["Larder-Cache-Control: max-age=5", "CDN-Cache-Control: max-age=10"], 5, true),
            (200, ["CDN-Cache-Control: public", "Expires: " + Sample.date(90)], 0, false),
            (200, ["CDN-Cache-Control: public", "Cache-Control: max-age=60", tenHoursAgo], 3600, false),
            (200, ["CDN-Cache-Control: max-age=\"10\"", "Cache-Control: max-age=60"], 0, true),
            (200, ["CDN-Cache-Control: &", "Cache-Control: max-age=60"], 60, true),
        ] as [(Int, [String], Int64, Bool)])
    func lifetime(status: Int, lines: [String], seconds: Int64, isExplicit: Bool) {
        let freshness = Sample.answer(status, lines).freshness
        #expect(freshness.lifetime == .seconds(seconds))
        #expect(freshness.isExplicit == isExplicit)
    }

    @Test("The age of a response grows from the age at receipt, in milliseconds (RFC 9111 §4.2.3)")
    func currentAge() {
        let freshness = Sample.answer(200, ["Cache-Control: max-age=60", "Age: 20"]).freshness
        #expect(freshness.currentAge(at: Sample.now) == .seconds(20))
        #expect(freshness.currentAge(at: Sample.now + .milliseconds(1234)) == .milliseconds(21_234))
        #expect(freshness.remaining(at: Sample.now + .milliseconds(1234)) == .milliseconds(38_766))
        #expect(freshness.expiryDate == Sample.now + .seconds(40))
        // RFC 9111 §4.2: a response is fresh while its age is less than its lifetime.
        #expect(freshness.isFresh(at: Sample.now + .milliseconds(39_999)))
        #expect(!freshness.isFresh(at: Sample.now + .seconds(40)))
        // A clock that was set back does not make the response younger.
        #expect(freshness.currentAge(at: Sample.now - .seconds(100)) == .seconds(20))
    }

    @Test("A response that arrives stale has an expiry date before its receipt; a no-cache response expires at receipt")
    func expiryInThePast() {
        #expect(
            Sample.answer(200, ["Cache-Control: max-age=60", "Age: 90"]).freshness.expiryDate
                == Sample.now - .seconds(30))
        #expect(Sample.answer(200, ["Cache-Control: max-age=60, no-cache"]).freshness.expiryDate == Sample.now)
    }

    @Test(
        "Directives decide whether and for how long a stale response may be served",
        arguments: [
            // RFC 9111 §4.2.4: these fields contain no directive that forbids a stale response.
            ("max-age=1", false, 0, nil),
            ("max-age=1, public", false, 0, nil),
            // RFC 9111 §5.2.2.2, §5.2.2.8, §5.2.2.10, §5.2.2.4: these directives forbid a stale response.
            ("max-age=1, must-revalidate", true, 0, 0),
            ("max-age=1, proxy-revalidate", true, 0, 0),
            ("s-maxage=1", true, 0, 0),
            ("max-age=1, no-cache", true, 0, 0),
            ("max-age=1, no-cache=\"Set-Cookie\"", true, 0, 0),
            // RFC 5861 §3, §4: these directives permit a stale response for a number of seconds.
            ("max-age=1, stale-while-revalidate=30", false, 30, nil),
            ("max-age=1, stale-if-error=40", false, 0, 40),
            ("max-age=1, stale-while-revalidate=30, stale-if-error=40", false, 30, 40),
            ("max-age=1, stale-if-error=0", false, 0, 0),
            // A value that is not a number allows no time.
            ("max-age=1, stale-while-revalidate, stale-if-error=x", false, 0, 0),
            ("max-age=1, stale-while-revalidate='30'", false, 0, nil),
            // A directive that forbids a stale response overrides directives that permit it (RFC 9111 §4.2.4).
            ("max-age=1, must-revalidate, stale-while-revalidate=30, stale-if-error=40", true, 0, 0),
            ("s-maxage=1, stale-while-revalidate=30, stale-if-error=40", true, 0, 0),
        ] as [(String, Bool, Int64, Int64?)])
    func staleness(control: String, isForbidden: Bool, whileRevalidate: Int64, ifError: Int64?) {
        let freshness = Sample.answer(200, ["Cache-Control: " + control]).freshness
        #expect(freshness.forbidsStale == isForbidden)
        #expect(freshness.staleWhileRevalidate == .seconds(whileRevalidate))
        #expect(freshness.staleIfError == ifError.map { .seconds($0) })
    }

    @Test("The time of receipt replaces a missing or unreadable Date, but not a readable Date (RFC 9110 §6.6.1)")
    func generatedDate() {
        #expect(Sample.answer(200, ["Age: 3"]).fields.lines == ["Age: 3", "Date: Thu, 01 Jan 2026 00:00:00 GMT"])
        #expect(Sample.answer(200, ["Date: Thu, 01 Jan 2026 00:00:09 GMT"]).fields.lines.count == 1)
        #expect(Sample.answer(200, ["Date: nonsense"]).fields.lines == ["Date: Thu, 01 Jan 2026 00:00:00 GMT"])
    }
}
