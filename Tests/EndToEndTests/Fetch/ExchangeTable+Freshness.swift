import Testing

/// How long an answer is fresh (RFC 9111 §4.2, §4.2.1, §5.2, §5.3), and how old it is (§4.2.3, §5.1).
extension ExchangeTable {
    static let freshness: [Exchange] = [
        row("9111 §5.2.2.1: fresh within max-age", ok("Cache-Control: max-age=60"), after: 59, is: .hit, .age(59)),
        row(
            "9111 §4.2: stale when its age is its lifetime", ok(minute), after: 60, is: .forwarded, .tells("fwd=stale")),
        row("9111 §5.2.2.1: max-age=0", ok("Cache-Control: max-age=0"), after: 0, is: .forwarded),
        row("9111 §4.2: fresh at once", ok("Cache-Control: max-age=1"), after: 0, is: .hit, .age(0)),
        row("9111 §4.2.1: nothing is stated", ok(), is: .forwarded),

        row(
            "9111 §4.2.1: a shorter s-maxage before max-age", ok("Cache-Control: s-maxage=60, max-age=3600"), after: 60,
            is: .forwarded),
        row(
            "9111 §4.2.1: a longer s-maxage before max-age", ok("Cache-Control: max-age=1, s-maxage=3600"), after: 60,
            is: .hit),
        row(
            "9111 §4.2.1: s-maxage before Expires", ok("Cache-Control: s-maxage=3600", "Expires: \(at(1))"), after: 60,
            is: .hit),
        row(
            "9111 §4.2.1: an s-maxage that cannot be read is stale",
            ok("Cache-Control: s-maxage=x, max-age=3600"), is: .forwarded),
        row("9111 §5.3: a longer max-age before Expires", ok(hour, "Expires: \(at(1))"), after: 60, is: .hit),
        row("9111 §5.3: max-age before Expires in the past", ok(hour, "Expires: \(at(-3600))"), after: 60, is: .hit),
        row(
            "9111 §5.3: a shorter max-age before Expires", ok("Cache-Control: max-age=1", "Expires: \(at(3600))"),
            after: 60, is: .forwarded),
        row("9111 §5.3: max-age before an Expires that is no date", ok(hour, "Expires: 0"), after: 60, is: .hit),

        row("9111 §5.3: before Expires", ok("Expires: \(at(60))"), after: 59, is: .hit, .age(59)),
        row("9111 §5.3: at Expires", ok("Expires: \(at(60))"), after: 60, is: .forwarded),
        row(
            "9111 §4.2.1: Expires − Date, before", ok("Date: \(at(-30))", "Expires: \(at(30))"), after: 29, is: .hit,
            .age(59)),
        row(
            "9111 §4.2.1: Expires − Date, after", ok("Date: \(at(-30))", "Expires: \(at(30))"), after: 30,
            is: .forwarded),
        row(
            "9111 §4.2.1: an origin whose clock is ahead, before", ok("Date: \(at(100))", "Expires: \(at(160))"),
            after: 59, is: .hit, .age(59)),
        row(
            "9111 §4.2.1: an origin whose clock is ahead, after", ok("Date: \(at(100))", "Expires: \(at(160))"),
            after: 60, is: .forwarded),
        row("9111 §5.3: Expires is Date", ok("Date: \(at(0))", "Expires: \(at(0))"), is: .forwarded),
        row("9111 §5.3: Expires before Date", ok("Date: \(at(0))", "Expires: \(at(-60))"), is: .forwarded),
        row("9111 §5.3: Expires: 0", ok("Expires: 0"), is: .forwarded),
        row("9111 §5.3: Expires: -1", ok("Expires: -1"), is: .forwarded),
        row("9111 §5.3: Expires is no date", ok("Expires: tomorrow"), is: .forwarded),
        row(
            "9110 §5.6.7: Expires as RFC 850 has it", ok("Expires: Thursday, 01-Jan-26 00:01:00 GMT"), after: 59,
            is: .hit),
        row(
            "9110 §5.6.7: an RFC 850 date ends as well", ok("Expires: Thursday, 01-Jan-26 00:01:00 GMT"), after: 60,
            is: .forwarded),
        row("9110 §5.6.7: Expires as asctime() has it", ok("Expires: Thu Jan  1 00:01:00 2026"), after: 59, is: .hit),
        row(
            "9110 §5.6.7: an asctime() date ends as well", ok("Expires: Thu Jan  1 00:01:00 2026"), after: 60,
            is: .forwarded),
        row(
            "9110 §5.6.7: an RFC 850 year more than 50 years ahead is past",
            ok("Expires: Friday, 01-Jan-99 00:00:00 GMT"), is: .forwarded),

        row("9111 §4.2: letters in either case", ok("Expires: thu, 01 JAN 2026 00:01:00 gmt"), after: 59, is: .hit),
        row("9110 §5.6.7: two spaces make no date", ok("Expires: Thu, 01 Jan 2026  01:00:00 GMT"), is: .forwarded),
        row("9111 §4.2: UTC is not GMT", ok("Expires: Thu, 01 Jan 2026 01:00:00 UTC"), is: .forwarded),
        row("9110 §5.6.7: a day of one digit", ok("Expires: Thu, 1 Jan 2026 01:00:00 GMT"), is: .forwarded),
        row("9110 §5.6.7: a long weekday", ok("Expires: Thursday, 01 Jan 2026 01:00:00 GMT"), is: .forwarded),
        row(
            "9111 §4.2.1: of several Expires the first", ok("Expires: \(at(60))", "Expires: \(at(3600))"), after: 60,
            is: .forwarded),
        row(
            "9111 §4.2.1: also when it is no date", ok("Expires: 0", "Expires: \(at(3600))"), is: .forwarded),
        row(
            "9110 §6.6.1: the receipt decides where Date is no date",
            ok("Date: Thu, 01 Jan 2026  00:00:00 GMT", "Expires: \(at(60))"), after: 59, is: .hit,
            .field("Date", [at(0)])),

        row("9111 §1.2.2: 2^31", ok("Cache-Control: max-age=2147483648"), after: 60, is: .hit),
        row("9111 §1.2.2: more than 2^31", ok("Cache-Control: max-age=4294967297"), after: 60, is: .hit),
        row(
            "9111 §1.2.2: more than any integer", ok("Cache-Control: max-age=99999999999999999999"), after: 60,
            is: .hit),
        row("9111 §1.2.2: leading zeros", ok("Cache-Control: max-age=0003600"), after: 60, is: .hit),
        row("9111 §5.2: a quoted number", ok("Cache-Control: max-age=\"3600\""), after: 60, is: .hit),
        row("9111 §5.2: '3600' is no number", ok("Cache-Control: max-age='3600'"), is: .forwarded),
        row("9111 §5.2: 3600.0 is no number", ok("Cache-Control: max-age=3600.0"), is: .forwarded),
        row("9111 §5.2: -3600 is no number", ok("Cache-Control: max-age=-3600"), is: .forwarded),
        row("9111 §5.2: 3600s is no number", ok("Cache-Control: max-age=3600s"), is: .forwarded),
        row("9111 §5.2: max-age without a number", ok("Cache-Control: max-age"), is: .forwarded),
        row("9111 §5.2: max-age= without a number", ok("Cache-Control: max-age="), is: .forwarded),
        row("9111 §5.2: no white space around =", ok("Cache-Control: max-age = 3600"), is: .forwarded),
        row("9111 §5.2: names are compared without case", ok("CACHE-CONTROL: MaX-aGe=3600"), after: 60, is: .hit),
        row(
            "9111 §4.2.1: of a repeated directive the first", ok("Cache-Control: max-age=3600, max-age=1"), after: 60,
            is: .hit),
        row("9110 §5.3: several lines", ok("Cache-Control: public", hour), after: 60, is: .hit),
        row("9111 §5.2.3: unknown directives", ok("Cache-Control: a, max-age=3600, b=c"), after: 60, is: .hit),
        row(
            "9111 §5.2: a comma within quotes", ok("Cache-Control: a=\"b, max-age=1\", max-age=3600"), after: 60,
            is: .hit),
        row(
            "9111 §5.2: a directive within quotes is none", ok("Cache-Control: a=\"b, max-age=3600, c\""),
            is: .forwarded),
        row("9110 §5.6.1: empty members", ok("Cache-Control: , ,max-age=3600,,"), after: 60, is: .hit),
    ]

    static let age: [Exchange] = [
        row("9111 §5.1: Age counts, fresh", ok(minute, "Age: 30"), after: 29, is: .hit, .field("Age", ["59"])),
        row("9111 §5.1: Age counts, stale", ok(minute, "Age: 30"), after: 30, is: .forwarded),
        row(
            "9111 §5.1: Age counts against Expires, fresh", ok("Expires: \(at(60))", "Age: 30"), after: 29, is: .hit,
            .age(59)),
        row(
            "9111 §5.1: Age counts against Expires, stale", ok("Expires: \(at(60))", "Age: 30"), after: 30,
            is: .forwarded),
        row("9111 §5.1: Age counts against s-maxage", ok("Cache-Control: s-maxage=60", "Age: 59"), is: .forwarded),
        row("9111 §5.1: stale at its arrival", ok(minute, "Age: 60"), after: 0, is: .forwarded),
        row("9111 §5.1: of a list the first member", ok(minute, "Age: 30, 10"), after: 29, is: .hit, .age(59)),
        row(
            "9111 §5.1: of several lines the first", ok(minute, "Age: 30", "Age: 10"), after: 29, is: .hit,
            .field("Age", ["59"])),
        row("9111 §5.1: of several lines the first, which is older", ok(minute, "Age: 60", "Age: 0"), is: .forwarded),
        row("9111 §5.1: words are ignored", ok(minute, "Age: old"), after: 59, is: .hit, .age(59)),
        row("9111 §5.1: a sign is ignored", ok(minute, "Age: -60"), after: 59, is: .hit, .age(59)),
        row("9111 §5.1: a fraction is ignored", ok(minute, "Age: 60.5"), after: 59, is: .hit, .age(59)),
        row("9111 §5.1: an empty Age is ignored", ok(minute, "Age: "), after: 59, is: .hit, .age(59)),
        row("9111 §1.2.2: an Age of 2^31", ok(minute, "Age: 2147483648"), is: .forwarded),
        row("9111 §1.2.2: an Age beyond any integer", ok(minute, "Age: 99999999999999999999"), is: .forwarded),
        row(
            "9111 §4.2.3: the apparent age, fresh", ok(minute, "Date: \(at(-30))"), after: 29, is: .hit, .age(59),
            .field("Date", [at(-30)])),
        row("9111 §4.2.3: the apparent age, stale", ok(minute, "Date: \(at(-30))"), after: 30, is: .forwarded),
        row(
            "9111 §4.2.3: the apparent age is larger than Age", ok(minute, "Date: \(at(-40))", "Age: 10"), after: 19,
            is: .hit, .age(59)),
        row(
            "9111 §4.2.3: Age is larger than the apparent age", ok(minute, "Date: \(at(-10))", "Age: 40"), after: 19,
            is: .hit, .age(59)),
        row(
            "9111 §4.2.3: Age and apparent age are not added", ok(minute, "Date: \(at(-30))", "Age: 30"), after: 29,
            is: .hit, .age(59)),
        row(
            "9111 §4.2.3: a Date ahead makes nothing younger", ok(minute, "Date: \(at(30))"), after: 60,
            is: .forwarded),
        row("9111 §4.2.3: a Date that is none", ok(minute, "Date: today"), after: 59, is: .hit, .age(59)),
        row(
            "9110 §6.6.1: a missing Date is that of the receipt", ok(minute), after: 10, is: .hit,
            .field("Date", [at(0)])),
        row(
            "9111 §4.3.4: a 304 makes it young again", ok(minute, v1), after: 70, now: notModified(minute, v1),
            is: .revalidated, .age(0)),
        row(
            "9111 §4.3.4: a 304 that is old itself", ok(minute, v1), after: 70, now: notModified(minute, v1, "Age: 10"),
            is: .revalidated, .age(10)),
        row(
            "9111 §5.1: an old Age is not that of the 304", ok(minute, v1, "Age: 50"), after: 70,
            now: notModified(minute, v1), is: .revalidated, .age(0)),
        row(
            "9111 §5.1: what is passed on has the origin's Age", ok("Cache-Control: no-store", "Age: 7"),
            is: .forwarded, .age(7)),
        row(
            "9111 §5.1: what the origin has just made has none", ok("Cache-Control: no-store"), is: .forwarded,
            .lacks("Age")),
    ]
}
