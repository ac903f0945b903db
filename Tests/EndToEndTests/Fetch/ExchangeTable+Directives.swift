import Testing

/// Directives about storing and reuse, in answers (RFC 9111 §5.2.2, RFC 8246) and requests (RFC 9111 §5.2.1, §5.4).
extension ExchangeTable {
    private static func control(_ text: String) -> String { "Cache-Control: " + text }
    private static let same = notModified(v1)

    static let answerDirectives: [Exchange] = [
        row("9111 §5.2.2.5: no-store forbids storing", ok(control("no-store, max-age=3600"), v1), is: .forwarded),
        row("9111 §5.2.2.5: no-store on a second line forbids storing", ok(hour, control("no-store")), is: .forwarded),
        row(
            "9111 §5.2: NO-STORE forbids storing, because directives have no case",
            ok(control("max-age=3600, NO-STORE")), is: .forwarded),
        row(
            "9111 §5.2.2.5: no-store with an argument forbids storing", ok(control("max-age=3600, no-store=x")),
            is: .forwarded),
        row(
            "9111 §5.2.2.5: no-store within quotes is not a directive", ok(control("max-age=3600, a=\"b, no-store\"")),
            is: .hit),
        row("9111 §5.2.2.7: private forbids storing", ok(control("private, max-age=3600"), v1), is: .forwarded),
        row(
            "9111 §5.2.2.7: private beside s-maxage forbids storing", ok(control("private, s-maxage=3600")),
            is: .forwarded),
        row(
            "9111 §5.2.2.7: private with field names forbids storing",
            ok(control("private=\"Set-Cookie\", max-age=3600")),
            is: .forwarded),
        row(
            "9111 §5.2.2.4: an answer with no-cache is stored and validated", ok(control("no-cache, max-age=3600"), v1),
            now: same,
            is: .revalidated, .saw("If-None-Match", "\"v1\"")),
        row(
            "9111 §5.2.2.4: an answer with no-cache and no lifetime is stored and validated",
            ok(control("no-cache"), v1), now: same, is: .revalidated),
        row(
            "9111 §5.2.2.4: an answer with no-cache for field names is stored and validated",
            ok(control("no-cache=\"Set-Cookie\", max-age=3600"), v1),
            now: same, is: .revalidated),
        row("9111 §5.2.2.4: a new answer replaces an answer with no-cache", ok(control("no-cache"), v1), is: .replaced),
        row(
            "9111 §5.2.2.4: an answer with no-cache and no validator is fetched again",
            ok(control("no-cache, max-age=3600")), is: .forwarded),
        row(
            "9111 §5.2.2.4: an answer with no-cache gives 504 for an unreachable origin",
            ok(control("no-cache, max-age=3600"), v1), now: nothing,
            is: .failed(504)),
        row(
            "9111 §5.2.2.2: an answer with must-revalidate is a hit while fresh",
            ok(control("must-revalidate, max-age=60"), v1), after: 59,
            is: .hit),
        row(
            "9111 §5.2.2.2: an answer with must-revalidate is validated when stale",
            ok(control("must-revalidate, max-age=60"), v1), after: 60,
            now: same, is: .revalidated),
        row(
            "9111 §5.2.2.2: a stale answer with must-revalidate gives 504 for an unreachable origin",
            ok(control("must-revalidate, max-age=60"), v1), after: 60,
            now: nothing, is: .failed(504)),
        row(
            "9111 §5.2.2.8: an answer with proxy-revalidate is a hit while fresh",
            ok(control("proxy-revalidate, max-age=60")), after: 59,
            is: .hit),
        row(
            "9111 §5.2.2.8: a stale answer with proxy-revalidate gives 504 for an unreachable origin",
            ok(control("proxy-revalidate, max-age=60"), v1),
            after: 60, now: nothing, is: .failed(504)),
        row(
            "9111 §5.2.2.10: a stale answer with s-maxage gives 504 for an unreachable origin",
            ok(control("s-maxage=60"), v1),
            after: 60, now: nothing,
            is: .failed(504)),
        row(
            "9111 §5.2.2.3: must-understand overrides no-store",
            ok(control("must-understand, no-store, max-age=3600")), is: .hit),
        row(
            "9111 §5.2.2.3: must-understand allows storing a known status",
            ok(control("must-understand, max-age=3600")), is: .hit),
        row(
            "9111 §5.2.2.3: must-understand forbids storing an unknown status",
            answer(299, control("must-understand, max-age=3600")), is: .forwarded),
        row(
            "9111 §5.2.2.3: must-understand with no-store forbids storing an unknown status",
            answer(599, control("must-understand, no-store, max-age=3600")), is: .forwarded),
        row(
            "9111 §5.2.2.3: must-understand does not override private",
            ok(control("must-understand, private, max-age=3600")), is: .forwarded),
        row(
            "8246 §2: an immutable answer is not validated for a reload", ok(control("immutable, max-age=3600"), v1),
            then: get("Cache-Control: max-age=0"), is: .hit),
        row(
            "8246 §2: an immutable answer is validated when stale", ok(control("immutable, max-age=60"), v1), after: 60,
            now: same, is: .revalidated),
        row("8246 §2: immutable alone gives no lifetime", ok(control("immutable")), is: .forwarded),
        row(
            "9111 §5.2.2.4: no-cache in a request overrides immutable", ok(control("immutable, max-age=3600"), v1),
            then: get("Cache-Control: no-cache"), now: same, is: .revalidated),
        row("9111 §5.2.2.6: no-transform does not affect storing", ok(control("no-transform, max-age=3600")), is: .hit),
        row("9111 §5.2.2.9: public alone gives no lifetime", ok(control("public")), is: .forwarded),
        row("9111 §5.4: Pragma in an answer is ignored", ok(hour, "Pragma: no-cache"), is: .hit),
        row(
            "9111 §7.3: Set-Cookie lines are stored", ok(hour, "Set-Cookie: a=1", "Set-Cookie: b=2"), is: .hit,
            .field("Set-Cookie", ["a=1", "b=2"])),
        row("9213 §2: Surrogate-Control is ignored", ok("Surrogate-Control: max-age=3600"), is: .forwarded),
        row(
            "9111 §4.3.3: a new answer with no-store replaces a validated answer", ok(control("no-cache"), v1),
            now: ok(control("no-store")),
            is: .replaced),
        row(
            "9111 §5.2.2.5: Cache-Control counts even if Connection names it",
            ok(control("no-store"), "Connection: cache-control"),
            is: .forwarded, .lacks("Cache-Control")),
    ]

    static let requestDirectives: [Exchange] = [
        row(
            "9111 §5.2.1.4: no-cache in a request causes a validation", ok(hour, v1),
            then: get("Cache-Control: no-cache"), now: same, is: .revalidated,
            .tells("fwd=request")),
        row(
            "9111 §5.2.1.4: no-cache in a request gets the origin's new answer", ok(hour, v1),
            then: get("Cache-Control: no-cache"),
            is: .replaced),
        row(
            "9111 §5.2.1.4: no-cache in a request fetches an answer without a validator again", ok(hour),
            then: get("Cache-Control: no-cache"),
            is: .forwarded, .tells("fwd=request")),
        row(
            "9111 §5.2.1.4: the answer to a no-cache request serves the next request", ok(hour),
            meanwhile: step(get("Cache-Control: no-cache"), gets: ok(hour)), is: .hit, .body("body 2")),
        row(
            "9111 §5.2: NO-CACHE in a request causes a validation", ok(hour, v1), then: get("cache-control: NO-CACHE"),
            now: same, is: .revalidated),
        row(
            "9111 §5.2.1.5: no-store in a request forbids storing", ok(hour), asked: get("Cache-Control: no-store"),
            is: .forwarded),
        row(
            "9111 §5.2.1.5: no-store in a request gets a stored answer", ok(hour), then: get("Cache-Control: no-store"),
            is: .hit),
        row(
            "9111 §5.2.1.5: no-store in a request leaves the stored answer unchanged", ok(minute, v1),
            meanwhile: step(after: 61, get("Cache-Control: no-store"), gets: ok(hour)), now: same, is: .revalidated),

        row(
            "9111 §5.2.1.1: max-age in a request accepts an answer of that age", ok(hour, v1), after: 60,
            then: get("Cache-Control: max-age=60"),
            is: .hit),
        row(
            "9111 §5.2.1.1: max-age in a request does not accept an older answer", ok(hour, v1), after: 61,
            then: get("Cache-Control: max-age=60"),
            now: same, is: .revalidated, .tells("fwd=request")),
        row(
            "9111 §5.2.1.1: max-age in a request counts the origin's Age", ok(hour, v1, "Age: 60"),
            then: get("Cache-Control: max-age=60"), now: same, is: .revalidated),
        row(
            "9111 §5.2.1.1: max-age=0 in a request validates an answer of age 0", ok(hour, v1), after: 0,
            then: get("Cache-Control: max-age=0"), now: same, is: .revalidated),
        row(
            "9111 §5.2.1.1: max-age without a number in a request causes a validation", ok(hour, v1),
            then: get("Cache-Control: max-age=x"), now: same,
            is: .revalidated),
        row(
            "9111 §5.2: max-age in quotes in a request is read", ok(hour, v1), after: 60,
            then: get("Cache-Control: max-age=\"60\""),
            is: .hit),
        row(
            "9111 §5.2.1.1: max-age in a request does not extend the lifetime", ok(minute, v1), after: 61,
            then: get("Cache-Control: max-age=3600"), now: same, is: .revalidated),

        row(
            "9111 §5.2.1.3: min-fresh accepts an answer with that lifetime left", ok(hour), after: 600,
            then: get("Cache-Control: min-fresh=3000"),
            is: .hit),
        row(
            "9111 §5.2.1.3: min-fresh does not accept an answer with less lifetime left", ok(hour, v1), after: 601,
            then: get("Cache-Control: min-fresh=3000"), now: same, is: .revalidated),
        row(
            "9111 §5.2.1.3: min-fresh without a valid number is ignored", ok(hour),
            then: get("Cache-Control: min-fresh=x"), is: .hit),

        row(
            "9111 §5.2.1.2: max-stale accepts an answer that is stale for that time", ok(minute), after: 100,
            then: get("Cache-Control: max-stale=40"),
            is: .stale, .age(100)),
        row(
            "9111 §5.2.1.2: max-stale does not accept an answer that is stale for longer", ok(minute, v1), after: 101,
            then: get("Cache-Control: max-stale=40"), now: same, is: .revalidated),
        row(
            "9111 §5.2.1.2: max-stale without a number accepts any stale answer", ok(minute), after: 3600,
            then: get("Cache-Control: max-stale"),
            is: .stale),
        row(
            "9111 §5.2.1.2: max-stale with an invalid number is ignored", ok(minute, v1), after: 61,
            then: get("Cache-Control: max-stale=x"), now: same, is: .revalidated),
        row(
            "9111 §5.2.1.2: max-stale does not override must-revalidate",
            ok(control("must-revalidate, max-age=60"), v1),
            after: 61, then: get("Cache-Control: max-stale"), now: same, is: .revalidated),
        row(
            "9111 §5.2.1.2: max-stale does not override proxy-revalidate",
            ok(control("proxy-revalidate, max-age=60"), v1), after: 61, then: get("Cache-Control: max-stale"),
            now: same, is: .revalidated),
        row(
            "9111 §5.2.1.2: max-stale does not override s-maxage", ok(control("s-maxage=60"), v1), after: 61,
            then: get("Cache-Control: max-stale"), now: same, is: .revalidated),
        row(
            "9111 §5.2.1.2: max-stale does not override no-cache", ok(control("no-cache, max-age=60"), v1), after: 61,
            then: get("Cache-Control: max-stale"), now: same, is: .revalidated),
        row(
            "9111 §5.2.1.2: max-stale beside max-age accepts a stale answer within both", ok(minute), after: 90,
            then: get("Cache-Control: max-age=100, max-stale=40"), is: .stale),
        row(
            "9111 §5.2.1.1: max-age beside max-stale does not accept an older answer", ok(minute, v1), after: 90,
            then: get("Cache-Control: max-age=80, max-stale=40"), now: same, is: .revalidated),

        row(
            "9111 §5.2.1.7: only-if-cached gets 504 on a miss", ok(hour),
            then: get("Cache-Control: only-if-cached", at: "x"),
            is: .refused),
        row(
            "9111 §5.2.1.7: only-if-cached gets a fresh answer", ok(hour), then: get("Cache-Control: only-if-cached"),
            is: .hit),
        row(
            "9111 §5.2.1.7: only-if-cached gets 504 for a stale answer", ok(minute, v1), after: 61,
            then: get("Cache-Control: only-if-cached"),
            is: .refused),
        row(
            "9111 §5.2.1.7: only-if-cached gets 504 for another variant", ok(hour, "Vary: Foo"), asked: get("Foo: 1"),
            then: get("Foo: 2", "Cache-Control: only-if-cached"), is: .refused),
        row(
            "9111 §5.2.1.7: only-if-cached with no-cache gets 504", ok(hour, v1),
            then: get("Cache-Control: only-if-cached, no-cache"), is: .refused),
        row(
            "9111 §5.2.1.7: only-if-cached with max-stale gets a stale answer", ok(minute), after: 61,
            then: get("Cache-Control: only-if-cached, max-stale"), is: .stale),

        row(
            "9111 §5.4: Pragma: no-cache causes a validation", ok(hour, v1), then: get("Pragma: no-cache"), now: same,
            is: .revalidated),
        row(
            "9111 §5.4: Pragma beside Cache-Control is ignored", ok(hour, v1),
            then: get("Pragma: no-cache", "Cache-Control: max-age=3600"), is: .hit),
        row("9111 §5.4: an unknown Pragma is ignored", ok(hour, v1), then: get("Pragma: x"), is: .hit),
        row(
            "9111 §5.2.3: unknown directives of a request are ignored", ok(hour),
            then: get("Cache-Control: a, no-transform, b=c"),
            is: .hit),
        row(
            "9110 §5.3: Cache-Control lines of a request are combined", ok(minute), after: 90,
            then: get("Cache-Control: max-age=100", "Cache-Control: max-stale"), is: .stale),
    ]
}
