import HTTPTypes
import Primitives
import Testing

@testable import HTTPCaching

@Suite("The freshness lifetime")
struct FreshnessLifetimeTests {
    /// 2026-01-01T00:00:00Z.
    private let now = Timestamp(seconds: 1_767_225_600)
    private static let date = "Thu, 01 Jan 2026 00:00:00 GMT"
    private static let inOneHour = "Thu, 01 Jan 2026 01:00:00 GMT"

    private func fields(_ pairs: [(HTTPField.Name, String)]) -> HTTPFields {
        var fields = HTTPFields()
        for (name, value) in pairs { fields.append(HTTPField(name: name, value: value)) }
        return fields
    }

    @Test(
        "The directives decide the explicit lifetime of a response in the order of RFC 9111 §4.2.1",
        arguments: [
            // No explicit lifetime.
            ([], nil),
            ([(.date, date)], nil),
            ([(.cacheControl, "public")], nil),
            ([(.lastModified, "Thu, 01 Jan 2015 00:00:00 GMT")], nil),
            ([(.cacheControl, "no-store")], nil),
            // A single source of the lifetime.
            ([(.cacheControl, "max-age=60")], 60),
            ([(.cacheControl, "s-maxage=60")], 60),
            ([(.date, date), (.expires, inOneHour)], 3600),
            // RFC 9111 §5.2.2.10: s-maxage overrides max-age and Expires.
            ([(.cacheControl, "max-age=1, s-maxage=60"), (.expires, inOneHour)], 60),
            ([(.cacheControl, "s-maxage=60, max-age=1")], 60),
            // RFC 9111 §5.3: max-age overrides Expires, even if max-age is invalid. An invalid max-age makes the
            // response stale (RFC 9111 §4.2.1).
            ([(.cacheControl, "max-age=60"), (.date, date), (.expires, inOneHour)], 60),
            ([(.cacheControl, "max-age='60'"), (.date, date), (.expires, inOneHour)], 0),
            ([(.cacheControl, "max-age"), (.date, date), (.expires, inOneHour)], 0),
            ([(.cacheControl, "max-age=-1")], 0),
            ([(.cacheControl, "max-age=60.5")], 0),
            ([(.cacheControl, "s-maxage=x, max-age=60")], 0),
            ([(.cacheControl, "max-age=0"), (.date, date), (.expires, inOneHour)], 0),
            // RFC 9111 §1.2.2: a number that is too large becomes 2^31.
            ([(.cacheControl, "max-age=99999999999999999999")], 2_147_483_648),
            // RFC 9111 §5.3: an invalid date, such as "0", counts as a date in the past.
            ([(.date, date), (.expires, "0")], 0),
            ([(.date, date), (.expires, "-1")], 0),
            ([(.date, date), (.expires, "")], 0),
            ([(.date, date), (.expires, "Thu, 32 Jan 2026 01:00:00 GMT")], 0),
            ([(.date, date), (.expires, "Thu, 01 Jan 2026 01:00:00 UTC")], 0),
            ([(.date, inOneHour), (.expires, date)], 0),
            ([(.date, date), (.expires, date)], 0),
            // RFC 9110 §5.6.7: the two obsolete forms are read as well.
            ([(.date, date), (.expires, "Thursday, 01-Jan-26 01:00:00 GMT")], 3600),
            ([(.date, date), (.expires, "Thu Jan  1 01:00:00 2026")], 3600),
            ([(.date, "Thu Jan  1 00:00:00 2026"), (.expires, inOneHour)], 3600),
            // RFC 9110 §6.6.1: without a readable Date, Expires is compared with the time of receipt.
            ([(.expires, inOneHour)], 3600),
            ([(.date, "yesterday"), (.expires, inOneHour)], 3600),
            // RFC 9111 §4.2.1: the first of several Expires lines counts.
            ([(.date, date), (.expires, inOneHour), (.expires, date)], 3600),
            ([(.date, date), (.expires, date), (.expires, inOneHour)], 0),
            ([(.date, date), (.expires, "Fri, 31 Dec 9999 23:59:59 GMT")], 2_147_483_648),
        ] as [([(HTTPField.Name, String)], Int64?)])
    func stated(pairs: [(HTTPField.Name, String)], seconds: Int64?) {
        let lifetime = FreshnessLifetime(fields(pairs), receivedAt: now)
        #expect(lifetime?.lifetime == seconds.map { .seconds($0) }, "\(pairs)")
    }

    @Test(
        "The age of a response at receipt is computed by RFC 9111 §4.2.3 and §5.1",
        arguments: [
            ([], 0),
            ([(.age, "30")], 30),
            ([(.age, "030")], 30),
            ([(.age, " 30\t")], 30),
            // RFC 9111 §5.1: the first member of a list counts; a value that is not a number is ignored.
            ([(.age, "30, 99")], 30),
            ([(.age, "30"), (.age, "99")], 30),
            ([(.age, "x, 99")], 0),
            ([(.age, ", 99")], 0),
            ([(.age, "-5")], 0),
            ([(.age, "3.5")], 0),
            ([(.age, "")], 0),
            ([(.age, "99999999999999999999")], 2_147_483_648),
            // The larger of the apparent and the corrected age counts.
            ([(.date, "Wed, 31 Dec 2025 23:59:00 GMT")], 60),
            ([(.date, "Wed, 31 Dec 2025 23:59:00 GMT"), (.age, "30")], 60),
            ([(.date, "Wed, 31 Dec 2025 23:59:00 GMT"), (.age, "90")], 90),
            // A fast clock of the origin does not make the age negative.
            ([(.date, inOneHour)], 0),
            ([(.date, "nonsense"), (.age, "7")], 7),
        ] as [([(HTTPField.Name, String)], Int64)])
    func age(pairs: [(HTTPField.Name, String)], seconds: Int64) throws {
        let lifetime = try #require(
            FreshnessLifetime(fields([(.cacheControl, "max-age=100")] + pairs), receivedAt: now))
        #expect(lifetime.ageAtReceipt == .seconds(seconds), "\(pairs)")
        #expect(lifetime.remaining == max(.zero, .seconds(100 - seconds)))
    }

    @Test("The time between request and response adds to the age in the Age field (RFC 9111 §4.2.3)")
    func responseDelay() throws {
        let stated = fields([(.cacheControl, "max-age=100"), (.age, "10"), (.date, Self.date)])
        let sent = now - .milliseconds(2500)
        let lifetime = try #require(FreshnessLifetime(stated, requestedAt: sent, receivedAt: now))
        #expect(lifetime.ageAtReceipt == .milliseconds(12_500))
        #expect(lifetime.remaining == .milliseconds(87_500))
        // A clock that was set back between request and response adds no delay.
        let later = try #require(FreshnessLifetime(stated, requestedAt: now + .seconds(50), receivedAt: now))
        #expect(later.ageAtReceipt == .seconds(10))
    }

    @Test("A response with a Date in the second of its receipt has age zero, even if it arrives late in that second")
    func sameSecond() throws {
        let stated = fields([(.cacheControl, "max-age=1"), (.date, Self.date)])
        let lifetime = try #require(FreshnessLifetime(stated, receivedAt: now + .milliseconds(999)))
        #expect(lifetime.ageAtReceipt == .zero)
        #expect(lifetime.remaining == .seconds(1))
    }
}
