import Testing

/// The freshness lifetime of answers (RFC 9111 §4.2, §4.2.1, §5.2, §5.3), and their age (RFC 9111 §4.2.3, §5.1).
extension ExchangeTable {
    static let freshness: [Exchange] = [
        row(
            "9111 §5.2.2.1: an answer is fresh below max-age", ok("Cache-Control: max-age=60"), after: 59, is: .hit,
            .age(59)),
        row(
            "9111 §4.2: an answer is stale when its age equals its lifetime", ok(minute), after: 60, is: .forwarded,
            .tells("fwd=stale")),
        row(
            "9111 §5.2.2.1: an answer with max-age=0 is stale at once", ok("Cache-Control: max-age=0"), after: 0,
            is: .forwarded),
        row(
            "9111 §4.2: an answer is fresh in its first moment", ok("Cache-Control: max-age=1"), after: 0, is: .hit,
            .age(0)),
        row("9111 §4.2.1: an answer without a lifetime is fetched again", ok(), is: .forwarded),

        row(
            "9111 §4.2.1: a shorter s-maxage overrides max-age", ok("Cache-Control: s-maxage=60, max-age=3600"),
            after: 60,
            is: .forwarded),
        row(
            "9111 §4.2.1: a longer s-maxage overrides max-age", ok("Cache-Control: max-age=1, s-maxage=3600"),
            after: 60,
            is: .hit),
        row(
            "9111 §4.2.1: s-maxage overrides Expires", ok("Cache-Control: s-maxage=3600", "Expires: \(at(1))"),
            after: 60,
            is: .hit),
        row(
            "9111 §4.2.1: an invalid s-maxage makes the answer stale",
            ok("Cache-Control: s-maxage=x, max-age=3600"), is: .forwarded),
        row("9111 §5.3: a longer max-age overrides Expires", ok(hour, "Expires: \(at(1))"), after: 60, is: .hit),
        row(
            "9111 §5.3: max-age overrides an Expires in the past", ok(hour, "Expires: \(at(-3600))"), after: 60,
            is: .hit),
        row(
            "9111 §5.3: a shorter max-age overrides Expires", ok("Cache-Control: max-age=1", "Expires: \(at(3600))"),
            after: 60, is: .forwarded),
        row("9111 §5.3: max-age overrides an invalid Expires", ok(hour, "Expires: 0"), after: 60, is: .hit),

        row("9111 §5.3: an answer is fresh before Expires", ok("Expires: \(at(60))"), after: 59, is: .hit, .age(59)),
        row("9111 §5.3: an answer is stale at Expires", ok("Expires: \(at(60))"), after: 60, is: .forwarded),
        row(
            "9111 §4.2.1: an answer is fresh for less than Expires − Date",
            ok("Date: \(at(-30))", "Expires: \(at(30))"), after: 29, is: .hit,
            .age(59)),
        row(
            "9111 §4.2.1: an answer is stale after Expires − Date", ok("Date: \(at(-30))", "Expires: \(at(30))"),
            after: 30,
            is: .forwarded),
        row(
            "9111 §4.2.1: an origin clock that is ahead does not shorten the lifetime",
            ok("Date: \(at(100))", "Expires: \(at(160))"),
            after: 59, is: .hit, .age(59)),
        row(
            "9111 §4.2.1: an origin clock that is ahead does not extend the lifetime",
            ok("Date: \(at(100))", "Expires: \(at(160))"),
            after: 60, is: .forwarded),
        row(
            "9111 §5.3: an answer with Expires equal to Date is stale", ok("Date: \(at(0))", "Expires: \(at(0))"),
            is: .forwarded),
        row(
            "9111 §5.3: an answer with Expires before Date is stale", ok("Date: \(at(0))", "Expires: \(at(-60))"),
            is: .forwarded),
        row("9111 §5.3: an answer with Expires: 0 is stale", ok("Expires: 0"), is: .forwarded),
        row("9111 §5.3: an answer with Expires: -1 is stale", ok("Expires: -1"), is: .forwarded),
        row("9111 §5.3: an answer with an invalid Expires is stale", ok("Expires: tomorrow"), is: .forwarded),
        row(
            "9110 §5.6.7: Expires may be an RFC 850 date", ok("Expires: Thursday, 01-Jan-26 00:01:00 GMT"), after: 59,
            is: .hit),
        row(
            "9110 §5.6.7: an answer is stale at an RFC 850 Expires", ok("Expires: Thursday, 01-Jan-26 00:01:00 GMT"),
            after: 60,
            is: .forwarded),
        row(
            "9110 §5.6.7: Expires may be an asctime() date", ok("Expires: Thu Jan  1 00:01:00 2026"), after: 59,
            is: .hit),
        row(
            "9110 §5.6.7: an answer is stale at an asctime() Expires", ok("Expires: Thu Jan  1 00:01:00 2026"),
            after: 60,
            is: .forwarded),
        row(
            "9110 §5.6.7: an RFC 850 year more than 50 years ahead is in the past",
            ok("Expires: Friday, 01-Jan-99 00:00:00 GMT"), is: .forwarded),

        row(
            "9111 §4.2: dates are read without case", ok("Expires: thu, 01 JAN 2026 00:01:00 gmt"),
            after: 59, is: .hit),
        row(
            "9110 §5.6.7: a date with two spaces is invalid", ok("Expires: Thu, 01 Jan 2026  01:00:00 GMT"),
            is: .forwarded),
        row("9111 §4.2: a date in UTC is invalid", ok("Expires: Thu, 01 Jan 2026 01:00:00 UTC"), is: .forwarded),
        row(
            "9110 §5.6.7: a date with a day of one digit is invalid", ok("Expires: Thu, 1 Jan 2026 01:00:00 GMT"),
            is: .forwarded),
        row(
            "9110 §5.6.7: a date with a long weekday is invalid", ok("Expires: Thursday, 01 Jan 2026 01:00:00 GMT"),
            is: .forwarded),
        row(
            "9111 §4.2.1: the first of several Expires counts", ok("Expires: \(at(60))", "Expires: \(at(3600))"),
            after: 60,
            is: .forwarded),
        row(
            "9111 §4.2.1: an invalid first Expires counts before a valid second",
            ok("Expires: 0", "Expires: \(at(3600))"), is: .forwarded),
        row(
            "9110 §6.6.1: the time of receipt stands in for an invalid Date",
            ok("Date: Thu, 01 Jan 2026  00:00:00 GMT", "Expires: \(at(60))"), after: 59, is: .hit,
            .field("Date", [at(0)])),

        row("9111 §1.2.2: a max-age of 2^31 is read", ok("Cache-Control: max-age=2147483648"), after: 60, is: .hit),
        row("9111 §1.2.2: a max-age above 2^31 is read", ok("Cache-Control: max-age=4294967297"), after: 60, is: .hit),
        row(
            "9111 §1.2.2: a max-age beyond any integer is read", ok("Cache-Control: max-age=99999999999999999999"),
            after: 60,
            is: .hit),
        row(
            "9111 §1.2.2: a max-age with leading zeros is read", ok("Cache-Control: max-age=0003600"), after: 60,
            is: .hit),
        row("9111 §5.2: a max-age in quotes is read", ok("Cache-Control: max-age=\"3600\""), after: 60, is: .hit),
        row("9111 §5.2: max-age='3600' is invalid", ok("Cache-Control: max-age='3600'"), is: .forwarded),
        row("9111 §5.2: max-age=3600.0 is invalid", ok("Cache-Control: max-age=3600.0"), is: .forwarded),
        row("9111 §5.2: max-age=-3600 is invalid", ok("Cache-Control: max-age=-3600"), is: .forwarded),
        row("9111 §5.2: max-age=3600s is invalid", ok("Cache-Control: max-age=3600s"), is: .forwarded),
        row("9111 §5.2: max-age without = is invalid", ok("Cache-Control: max-age"), is: .forwarded),
        row("9111 §5.2: max-age= without a number is invalid", ok("Cache-Control: max-age="), is: .forwarded),
        row(
            "9111 §5.2: max-age with white space around = is invalid", ok("Cache-Control: max-age = 3600"),
            is: .forwarded),
        row("9111 §5.2: names are compared without case", ok("CACHE-CONTROL: MaX-aGe=3600"), after: 60, is: .hit),
        row(
            "9111 §4.2.1: the first of a repeated directive counts", ok("Cache-Control: max-age=3600, max-age=1"),
            after: 60,
            is: .hit),
        row(
            "9110 §5.3: Cache-Control lines of an answer are combined", ok("Cache-Control: public", hour), after: 60,
            is: .hit),
        row(
            "9111 §5.2.3: unknown directives of an answer are ignored", ok("Cache-Control: a, max-age=3600, b=c"),
            after: 60, is: .hit),
        row(
            "9111 §5.2: a comma within quotes does not end a directive",
            ok("Cache-Control: a=\"b, max-age=1\", max-age=3600"), after: 60,
            is: .hit),
        row(
            "9111 §5.2: a directive within quotes does not count", ok("Cache-Control: a=\"b, max-age=3600, c\""),
            is: .forwarded),
        row("9110 §5.6.1: empty members are ignored", ok("Cache-Control: , ,max-age=3600,,"), after: 60, is: .hit),
    ]

    static let age: [Exchange] = [
        row(
            "9111 §5.1: an answer is fresh while its Age and its time in the cache are below max-age",
            ok(minute, "Age: 30"), after: 29, is: .hit, .field("Age", ["59"])),
        row(
            "9111 §5.1: an answer is stale when its Age and its time in the cache reach max-age", ok(minute, "Age: 30"),
            after: 30, is: .forwarded),
        row(
            "9111 §5.1: an answer is fresh while its Age and its time in the cache are below Expires",
            ok("Expires: \(at(60))", "Age: 30"), after: 29, is: .hit,
            .age(59)),
        row(
            "9111 §5.1: an answer is stale when its Age and its time in the cache reach Expires",
            ok("Expires: \(at(60))", "Age: 30"), after: 30,
            is: .forwarded),
        row("9111 §5.1: Age counts against s-maxage", ok("Cache-Control: s-maxage=60", "Age: 59"), is: .forwarded),
        row(
            "9111 §5.1: an answer with an Age of its lifetime is stale at its arrival", ok(minute, "Age: 60"), after: 0,
            is: .forwarded),
        row(
            "9111 §5.1: the first member of an Age list counts", ok(minute, "Age: 30, 10"), after: 29, is: .hit,
            .age(59)),
        row(
            "9111 §5.1: the first of several Age lines counts", ok(minute, "Age: 30", "Age: 10"), after: 29, is: .hit,
            .field("Age", ["59"])),
        row(
            "9111 §5.1: the first of several Age lines counts, also if it makes the answer stale",
            ok(minute, "Age: 60", "Age: 0"), is: .forwarded),
        row("9111 §5.1: an Age of words is ignored", ok(minute, "Age: old"), after: 59, is: .hit, .age(59)),
        row("9111 §5.1: an Age with a sign is ignored", ok(minute, "Age: -60"), after: 59, is: .hit, .age(59)),
        row("9111 §5.1: an Age with a fraction is ignored", ok(minute, "Age: 60.5"), after: 59, is: .hit, .age(59)),
        row("9111 §5.1: an empty Age is ignored", ok(minute, "Age: "), after: 59, is: .hit, .age(59)),
        row("9111 §1.2.2: an answer with an Age of 2^31 is stale", ok(minute, "Age: 2147483648"), is: .forwarded),
        row(
            "9111 §1.2.2: an answer with an Age beyond any integer is stale", ok(minute, "Age: 99999999999999999999"),
            is: .forwarded),
        row(
            "9111 §4.2.3: an answer is fresh while its apparent age is below max-age", ok(minute, "Date: \(at(-30))"),
            after: 29, is: .hit, .age(59),
            .field("Date", [at(-30)])),
        row(
            "9111 §4.2.3: an answer is stale when its apparent age reaches max-age", ok(minute, "Date: \(at(-30))"),
            after: 30, is: .forwarded),
        row(
            "9111 §4.2.3: an apparent age larger than Age counts", ok(minute, "Date: \(at(-40))", "Age: 10"), after: 19,
            is: .hit, .age(59)),
        row(
            "9111 §4.2.3: an Age larger than the apparent age counts", ok(minute, "Date: \(at(-10))", "Age: 40"),
            after: 19,
            is: .hit, .age(59)),
        row(
            "9111 §4.2.3: Age and apparent age are not added", ok(minute, "Date: \(at(-30))", "Age: 30"), after: 29,
            is: .hit, .age(59)),
        row(
            "9111 §4.2.3: a Date in the future does not make an answer younger", ok(minute, "Date: \(at(30))"),
            after: 60,
            is: .forwarded),
        row(
            "9111 §4.2.3: an invalid Date gives no apparent age", ok(minute, "Date: today"), after: 59, is: .hit,
            .age(59)),
        row(
            "9110 §6.6.1: the time of receipt stands in for a missing Date", ok(minute), after: 10, is: .hit,
            .field("Date", [at(0)])),
        row(
            "9111 §4.3.4: a 304 makes the answer young again", ok(minute, v1), after: 70, now: notModified(minute, v1),
            is: .revalidated, .age(0)),
        row(
            "9111 §4.3.4: the Age of a 304 counts", ok(minute, v1), after: 70, now: notModified(minute, v1, "Age: 10"),
            is: .revalidated, .age(10)),
        row(
            "9111 §5.1: a 304 without an Age resets the stored Age", ok(minute, v1, "Age: 50"), after: 70,
            now: notModified(minute, v1), is: .revalidated, .age(0)),
        row(
            "9111 §5.1: a forwarded answer has the origin's Age", ok("Cache-Control: no-store", "Age: 7"),
            is: .forwarded, .age(7)),
        row(
            "9111 §5.1: a new answer without an Age gets no Age", ok("Cache-Control: no-store"), is: .forwarded,
            .lacks("Age")),
    ]
}
