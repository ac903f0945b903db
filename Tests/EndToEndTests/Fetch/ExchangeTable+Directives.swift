import Testing

/// What answers (RFC 9111 §5.2.2, RFC 8246) and requests (RFC 9111 §5.2.1, §5.4) say about their storing and reuse.
extension ExchangeTable {
    private static func control(_ text: String) -> String { "Cache-Control: " + text }
    private static let same = notModified(v1)

    static let answerDirectives: [Exchange] = [
        row("9111 §5.2.2.5: no-store", ok(control("no-store, max-age=3600"), v1), is: .forwarded),
        row("9111 §5.2.2.5: no-store behind max-age", ok(hour, control("no-store")), is: .forwarded),
        row("9111 §5.2: NO-STORE", ok(control("max-age=3600, NO-STORE")), is: .forwarded),
        row(
            "9111 §5.2.2.5: no-store with an argument all the same", ok(control("max-age=3600, no-store=x")),
            is: .forwarded),
        row("9111 §5.2.2.5: no-store within quotes is none", ok(control("max-age=3600, a=\"b, no-store\"")), is: .hit),
        row("9111 §5.2.2.7: private", ok(control("private, max-age=3600"), v1), is: .forwarded),
        row("9111 §5.2.2.7: private beside s-maxage", ok(control("private, s-maxage=3600")), is: .forwarded),
        row(
            "9111 §5.2.2.7: private with field names", ok(control("private=\"Set-Cookie\", max-age=3600")),
            is: .forwarded),
        row(
            "9111 §5.2.2.4: no-cache is stored and validated", ok(control("no-cache, max-age=3600"), v1), now: same,
            is: .revalidated, .saw("If-None-Match", "\"v1\"")),
        row("9111 §5.2.2.4: no-cache without freshness", ok(control("no-cache"), v1), now: same, is: .revalidated),
        row(
            "9111 §5.2.2.4: no-cache with field names", ok(control("no-cache=\"Set-Cookie\", max-age=3600"), v1),
            now: same, is: .revalidated),
        row("9111 §5.2.2.4: no-cache, and another answer", ok(control("no-cache"), v1), is: .replaced),
        row("9111 §5.2.2.4: no-cache without a validator", ok(control("no-cache, max-age=3600")), is: .forwarded),
        row(
            "9111 §5.2.2.4: no-cache, and no origin", ok(control("no-cache, max-age=3600"), v1), now: nothing,
            is: .failed(504)),
        row(
            "9111 §5.2.2.2: must-revalidate while fresh", ok(control("must-revalidate, max-age=60"), v1), after: 59,
            is: .hit),
        row(
            "9111 §5.2.2.2: must-revalidate when stale", ok(control("must-revalidate, max-age=60"), v1), after: 60,
            now: same, is: .revalidated),
        row(
            "9111 §5.2.2.2: must-revalidate, and no origin", ok(control("must-revalidate, max-age=60"), v1), after: 60,
            now: nothing, is: .failed(504)),
        row(
            "9111 §5.2.2.8: proxy-revalidate while fresh", ok(control("proxy-revalidate, max-age=60")), after: 59,
            is: .hit),
        row(
            "9111 §5.2.2.8: proxy-revalidate, and no origin", ok(control("proxy-revalidate, max-age=60"), v1),
            after: 60, now: nothing, is: .failed(504)),
        row(
            "9111 §5.2.2.10: s-maxage, and no origin", ok(control("s-maxage=60"), v1), after: 60, now: nothing,
            is: .failed(504)),
        row(
            "9111 §5.2.2.3: must-understand goes before no-store",
            ok(control("must-understand, no-store, max-age=3600")), is: .hit),
        row("9111 §5.2.2.3: must-understand alone", ok(control("must-understand, max-age=3600")), is: .hit),
        row(
            "9111 §5.2.2.3: must-understand beside an unknown status",
            answer(299, control("must-understand, max-age=3600")), is: .forwarded),
        row(
            "9111 §5.2.2.3: must-understand and no-store beside an unknown status",
            answer(599, control("must-understand, no-store, max-age=3600")), is: .forwarded),
        row(
            "9111 §5.2.2.3: must-understand does not go before private",
            ok(control("must-understand, private, max-age=3600")), is: .forwarded),
        row(
            "8246 §2: immutable is not validated for a reload", ok(control("immutable, max-age=3600"), v1),
            then: get("Cache-Control: max-age=0"), is: .hit),
        row(
            "8246 §2: immutable is validated when it is stale", ok(control("immutable, max-age=60"), v1), after: 60,
            now: same, is: .revalidated),
        row("8246 §2: immutable gives no freshness", ok(control("immutable")), is: .forwarded),
        row(
            "9111 §5.2.2.4: no-cache in a request goes before immutable", ok(control("immutable, max-age=3600"), v1),
            then: get("Cache-Control: no-cache"), now: same, is: .revalidated),
        row("9111 §5.2.2.6: no-transform is nothing to a cache", ok(control("no-transform, max-age=3600")), is: .hit),
        row("9111 §5.2.2.9: public needs freshness", ok(control("public")), is: .forwarded),
        row("9111 §5.4: Pragma in an answer means nothing", ok(hour, "Pragma: no-cache"), is: .hit),
        row(
            "9111 §7.3: Set-Cookie is stored", ok(hour, "Set-Cookie: a=1", "Set-Cookie: b=2"), is: .hit,
            .field("Set-Cookie", ["a=1", "b=2"])),
        row("9213 §2: Surrogate-Control is none of Larder's", ok("Surrogate-Control: max-age=3600"), is: .forwarded),
        row(
            "9111 §4.3.3: no-store in a new answer", ok(control("no-cache"), v1), now: ok(control("no-store")),
            is: .replaced),
        row(
            "9111 §5.2.2.5: Connection may name Cache-Control, which counts",
            ok(control("no-store"), "Connection: cache-control"),
            is: .forwarded, .lacks("Cache-Control")),
    ]

    static let requestDirectives: [Exchange] = [
        row(
            "9111 §5.2.1.4: no-cache", ok(hour, v1), then: get("Cache-Control: no-cache"), now: same, is: .revalidated,
            .tells("fwd=request")),
        row(
            "9111 §5.2.1.4: no-cache, and another answer", ok(hour, v1), then: get("Cache-Control: no-cache"),
            is: .replaced),
        row(
            "9111 §5.2.1.4: no-cache without a validator", ok(hour), then: get("Cache-Control: no-cache"),
            is: .forwarded, .tells("fwd=request")),
        row(
            "9111 §5.2.1.4: what no-cache brought serves the next", ok(hour),
            meanwhile: step(get("Cache-Control: no-cache"), gets: ok(hour)), is: .hit, .body("body 2")),
        row("9111 §5.2: NO-CACHE", ok(hour, v1), then: get("cache-control: NO-CACHE"), now: same, is: .revalidated),
        row("9111 §5.2.1.5: no-store keeps nothing", ok(hour), asked: get("Cache-Control: no-store"), is: .forwarded),
        row(
            "9111 §5.2.1.5: no-store may have what is stored", ok(hour), then: get("Cache-Control: no-store"),
            is: .hit),
        row(
            "9111 §5.2.1.5: no-store changes nothing", ok(minute, v1),
            meanwhile: step(after: 61, get("Cache-Control: no-store"), gets: ok(hour)), now: same, is: .revalidated),

        row(
            "9111 §5.2.1.1: max-age, young enough", ok(hour, v1), after: 60, then: get("Cache-Control: max-age=60"),
            is: .hit),
        row(
            "9111 §5.2.1.1: max-age, too old", ok(hour, v1), after: 61, then: get("Cache-Control: max-age=60"),
            now: same, is: .revalidated, .tells("fwd=request")),
        row(
            "9111 §5.2.1.1: max-age counts the origin's Age", ok(hour, v1, "Age: 60"),
            then: get("Cache-Control: max-age=60"), now: same, is: .revalidated),
        row(
            "9111 §5.2.1.1: max-age=0 in the first moment", ok(hour, v1), after: 0,
            then: get("Cache-Control: max-age=0"), now: same, is: .revalidated),
        row(
            "9111 §5.2.1.1: max-age that is no number", ok(hour, v1), then: get("Cache-Control: max-age=x"), now: same,
            is: .revalidated),
        row(
            "9111 §5.2: max-age in quotes", ok(hour, v1), after: 60, then: get("Cache-Control: max-age=\"60\""),
            is: .hit),
        row(
            "9111 §5.2.1.1: max-age beyond the lifetime makes nothing fresher", ok(minute, v1), after: 61,
            then: get("Cache-Control: max-age=3600"), now: same, is: .revalidated),

        row(
            "9111 §5.2.1.3: min-fresh, fresh enough", ok(hour), after: 600, then: get("Cache-Control: min-fresh=3000"),
            is: .hit),
        row(
            "9111 §5.2.1.3: min-fresh, not fresh enough", ok(hour, v1), after: 601,
            then: get("Cache-Control: min-fresh=3000"), now: same, is: .revalidated),
        row("9111 §5.2.1.3: min-fresh that is no number", ok(hour), then: get("Cache-Control: min-fresh=x"), is: .hit),

        row(
            "9111 §5.2.1.2: max-stale, not too stale", ok(minute), after: 100, then: get("Cache-Control: max-stale=40"),
            is: .stale, .age(100)),
        row(
            "9111 §5.2.1.2: max-stale, too stale", ok(minute, v1), after: 101,
            then: get("Cache-Control: max-stale=40"), now: same, is: .revalidated),
        row(
            "9111 §5.2.1.2: max-stale without a number", ok(minute), after: 3600, then: get("Cache-Control: max-stale"),
            is: .stale),
        row(
            "9111 §5.2.1.2: max-stale that is no number", ok(minute, v1), after: 61,
            then: get("Cache-Control: max-stale=x"), now: same, is: .revalidated),
        row(
            "9111 §5.2.1.2: max-stale does not go before must-revalidate",
            ok(control("must-revalidate, max-age=60"), v1),
            after: 61, then: get("Cache-Control: max-stale"), now: same, is: .revalidated),
        row(
            "9111 §5.2.1.2: max-stale does not go before proxy-revalidate",
            ok(control("proxy-revalidate, max-age=60"), v1), after: 61, then: get("Cache-Control: max-stale"),
            now: same, is: .revalidated),
        row(
            "9111 §5.2.1.2: max-stale does not go before s-maxage", ok(control("s-maxage=60"), v1), after: 61,
            then: get("Cache-Control: max-stale"), now: same, is: .revalidated),
        row(
            "9111 §5.2.1.2: max-stale does not go before no-cache", ok(control("no-cache, max-age=60"), v1), after: 61,
            then: get("Cache-Control: max-stale"), now: same, is: .revalidated),
        row(
            "9111 §5.2.1.2: max-stale beside max-age, young enough", ok(minute), after: 90,
            then: get("Cache-Control: max-age=100, max-stale=40"), is: .stale),
        row(
            "9111 §5.2.1.1: max-stale beside max-age, too old", ok(minute, v1), after: 90,
            then: get("Cache-Control: max-age=80, max-stale=40"), now: same, is: .revalidated),

        row(
            "9111 §5.2.1.7: only-if-cached, nothing held", ok(hour),
            then: get("Cache-Control: only-if-cached", at: "x"),
            is: .refused),
        row("9111 §5.2.1.7: only-if-cached, fresh", ok(hour), then: get("Cache-Control: only-if-cached"), is: .hit),
        row(
            "9111 §5.2.1.7: only-if-cached, stale", ok(minute, v1), after: 61,
            then: get("Cache-Control: only-if-cached"),
            is: .refused),
        row(
            "9111 §5.2.1.7: only-if-cached, another variant", ok(hour, "Vary: Foo"), asked: get("Foo: 1"),
            then: get("Foo: 2", "Cache-Control: only-if-cached"), is: .refused),
        row(
            "9111 §5.2.1.7: only-if-cached and no-cache", ok(hour, v1),
            then: get("Cache-Control: only-if-cached, no-cache"), is: .refused),
        row(
            "9111 §5.2.1.7: only-if-cached and max-stale", ok(minute), after: 61,
            then: get("Cache-Control: only-if-cached, max-stale"), is: .stale),

        row("9111 §5.4: Pragma: no-cache", ok(hour, v1), then: get("Pragma: no-cache"), now: same, is: .revalidated),
        row(
            "9111 §5.4: Pragma beside Cache-Control means nothing", ok(hour, v1),
            then: get("Pragma: no-cache", "Cache-Control: max-age=3600"), is: .hit),
        row("9111 §5.4: another Pragma means nothing", ok(hour, v1), then: get("Pragma: x"), is: .hit),
        row(
            "9111 §5.2.3: unknown directives of a request", ok(hour), then: get("Cache-Control: a, no-transform, b=c"),
            is: .hit),
        row(
            "9110 §5.3: several lines of a request", ok(minute), after: 90,
            then: get("Cache-Control: max-age=100", "Cache-Control: max-stale"), is: .stale),
    ]
}
