import Testing

/// Stale answers (RFC 9111 §4.2.4, RFC 5861), and those that not everyone may have (RFC 9111 §3.5, Larder-TTL).
extension ExchangeTable {
    private static func control(_ text: String) -> String { "Cache-Control: max-age=60, " + text }
    private static let behind = ok(control("stale-while-revalidate=60"), v1)
    private static let onError = ok(control("stale-if-error=60"), v1)

    static let stale: [Exchange] = [
        row(
            "5861 §3: within stale-while-revalidate", behind, after: 61, is: .staleWhileRevalidated,
            .saw("If-None-Match", "\"v1\"")),
        row(
            "5861 §3: until its last second", behind, after: 119, is: .staleWhileRevalidated, .age(119)),
        row("5861 §3: and no longer", behind, after: 120, is: .replaced),
        row(
            "5861 §3: without a validator", ok(control("stale-while-revalidate=60")), after: 61,
            is: .staleWhileRevalidated),
        row("5861 §3: while it is fresh nobody asks", behind, after: 59, is: .hit),
        row(
            "5861 §3: the next has what came", behind, meanwhile: step(after: 61, get(), gets: ok(hour)),
            is: .hit,
            .body("body 2")),
        row(
            "5861 §3: or what was confirmed", behind,
            meanwhile: step(after: 61, get(), gets: notModified(v1)),
            after: 59, is: .hit),
        row(
            "5861 §3: or the same, when that failed", behind,
            meanwhile: step(after: 61, get(), gets: answer(500)),
            is: .staleWhileRevalidated),
        row(
            "5861 §3: what is no number allows nothing", ok(control("stale-while-revalidate=x"), v1),
            after: 61,
            is: .replaced),
        row(
            "9111 §5.2.2.2: must-revalidate forbids it",
            ok(control("stale-while-revalidate=60, must-revalidate"), v1),
            after: 61, is: .replaced),
        row(
            "9111 §5.2.2.4: no-cache forbids it", ok(control("stale-while-revalidate=60, no-cache"), v1),
            after: 61,
            is: .replaced),
        row(
            "9111 §5.2.1.1: max-age in the request forbids it", behind, after: 61,
            then: get("Cache-Control: max-age=3600"), is: .replaced),
        row(
            "9111 §5.2.1.4: so does no-cache in the request", behind, after: 61,
            then: get("Cache-Control: no-cache"),
            is: .replaced),

        row(
            "5861 §4: 500 within stale-if-error", onError, after: 61, now: answer(500),
            is: .staleAfterError,
            .tells("fwd-status=500")),
        row(
            "5861 §4: 502 within stale-if-error", onError, after: 61, now: answer(502),
            is: .staleAfterError),
        row(
            "5861 §4: 503 within stale-if-error", onError, after: 61, now: answer(503),
            is: .staleAfterError),
        row(
            "5861 §4: 504 within stale-if-error", onError, after: 61, now: answer(504),
            is: .staleAfterError),
        row("5861 §4: 501 is no such error", onError, after: 61, now: answer(501), is: .replaced),
        row("5861 §4: nor is 404", onError, after: 61, now: answer(404), is: .replaced),
        row("5861 §4: stale-if-error is over", onError, after: 121, now: answer(500), is: .replaced),
        row(
            "5861 §4: without stale-if-error", ok(minute, v1), after: 61, now: answer(503), is: .replaced),
        row(
            "5861 §4: stale-if-error in the request", ok(minute, v1), after: 61,
            then: get("Cache-Control: stale-if-error=60"), now: answer(503), is: .staleAfterError),
        row(
            "5861 §4: a shorter one in the request", onError, after: 100,
            then: get("Cache-Control: stale-if-error=10"),
            now: answer(503), is: .replaced),
        row(
            "9111 §5.2.2.2: must-revalidate goes before it",
            ok(control("stale-if-error=60, must-revalidate"), v1),
            after: 61, now: answer(500), is: .replaced),
        row(
            "5861 §4: without a validator", ok(control("stale-if-error=60")), after: 61, now: answer(500),
            is: .staleAfterError),
        row(
            "5861 §4: a stored 500 stands in for no 503", answer(500, control("stale-if-error=3600")), after: 61,
            now: answer(503, minute), is: .forwarded),
        row(
            "5861 §4: the newer error is kept in place of it", answer(500, control("stale-if-error=3600")),
            meanwhile: step(after: 61, get(), gets: answer(503, minute)), is: .hit, .status(503), .body("body 2")),
        row(
            "5861 §4: nor with a validator", answer(503, control("stale-if-error=3600"), v1), after: 61,
            now: answer(500), is: .replaced),
        row(
            "5861 §4: nor when the request asks for it", answer(503, minute), after: 61,
            then: get("Cache-Control: stale-if-error=3600"), now: answer(500), is: .forwarded),
        row(
            "5861 §3: nor while it is revalidated", answer(503, control("stale-while-revalidate=3600")), after: 61,
            now: ok(minute), is: .forwarded),
        row(
            "9111 §4.2.4: nor for an origin that cannot be reached", answer(503, control("stale-if-error=3600")),
            after: 61, now: nothing, is: .failed(502)),
        row(
            "5861 §4: a stored 404 stands in for no 503", answer(404, control("stale-if-error=3600")), after: 61,
            now: answer(503), is: .forwarded),
        row(
            "5861 §4: nor a stored 403 with a validator", answer(403, control("stale-if-error=3600"), v1), after: 61,
            now: answer(500), is: .replaced),
        row(
            "5861 §4: nor a stored 410 when the request asks for it", answer(410, minute), after: 61,
            then: get("Cache-Control: stale-if-error=3600"), now: answer(502), is: .forwarded),
        row(
            "5861 §4: nor a stored 401", answer(401, control("stale-if-error=3600")), after: 61, now: answer(504),
            is: .forwarded),
        row(
            "9111 §4.2.4: a stored 404 stands in for an origin that cannot be reached", answer(404, minute), after: 61,
            now: nothing, is: .staleAfterError),

        row(
            "9111 §4.2.4: no origin", ok(minute, v1), after: 61, now: nothing, is: .staleAfterError,
            .age(61)),
        row(
            "9111 §4.2.4: no origin and no validator", ok(minute), after: 61, now: nothing,
            is: .staleAfterError),
        row(
            "5861 §4: no origin within stale-if-error", onError, after: 61, now: nothing,
            is: .staleAfterError),
        row(
            "5861 §4: no origin, and stale-if-error is over", onError, after: 121, now: nothing,
            is: .failed(502)),
        row(
            "9111 §5.2.1.4: no origin, and no-cache in the request", ok(hour, v1),
            then: get("Cache-Control: no-cache"), now: nothing, is: .failed(502)),
        row(
            "9111 §5.2.1.1: no origin, and max-age in the request", ok(hour, v1), after: 61,
            then: get("Cache-Control: max-age=60"), now: nothing, is: .failed(502)),
        row(
            "9111 §5.2.1.2: no origin, and staler than max-stale", ok(minute, v1), after: 100,
            then: get("Cache-Control: max-stale=10"), now: nothing, is: .failed(502)),
        row(
            "9110 §15.6.3: no origin, and nothing held", ok(minute), then: get(at: "x"), now: nothing,
            is: .failed(502)),
        row(
            "9111 §4.2.4: no origin for HEAD", ok(minute, v1), after: 61, then: head(), now: nothing,
            is: .staleAfterError),
        row(
            "9111 §4.2.4: no origin, and a condition", ok(minute, v1), after: 61,
            then: get("If-None-Match: \"v1\""),
            now: nothing, is: .staleAfterError, .status(304), .body("")),
        row(
            "9111 §4.2.4: no origin for POST", ok(hour), then: ask("POST"), now: nothing, is: .failed(502)
        ),
    ]

    private static func by(_ user: String, _ lines: String...) -> Exchange.Ask {
        Exchange.Ask(lines: ["Authorization: \(user)"] + lines)
    }

    static let authorization: [Exchange] = [
        row("9111 §3.5: not stored", ok(hour), asked: by("a"), is: .forwarded),
        row(
            "9111 §3.5: not for the same user either", ok(hour), asked: by("a"), then: by("a"),
            is: .forwarded,
            .tells("detail=authorization"), .saw("Authorization", "a")),
        row(
            "9111 §3.5: public", ok("Cache-Control: public, max-age=60"), asked: by("a"), then: by("b"),
            is: .hit),
        row(
            "9111 §3.5: s-maxage", ok("Cache-Control: s-maxage=60"), asked: by("a"), then: by("b"),
            is: .hit),
        row(
            "9111 §3.5: must-revalidate", ok("Cache-Control: max-age=60, must-revalidate"),
            asked: by("a"), is: .hit),
        row(
            "9111 §3.5: proxy-revalidate is not among them",
            ok("Cache-Control: max-age=60, proxy-revalidate"),
            asked: by("a"), is: .forwarded),
        row(
            "9111 §3.5: public for CDNs", ok("CDN-Cache-Control: public, max-age=60"), asked: by("a"),
            is: .hit),
        row("9111 §3.5: what is stored is for users as well", ok(hour), then: by("a"), is: .hit),
        row(
            "9111 §4.1: Vary: Authorization",
            ok("Cache-Control: public, max-age=60", "Vary: Authorization"),
            asked: by("a"), then: by("b"), is: .forwarded),
    ]

    private static let ttl = "Larder-TTL: 60"
    private static let noStore = ok("Cache-Control: no-store")

    static let callers: [Exchange] = [
        row(
            "Larder-TTL: before the origin's no-store", noStore, asked: get(ttl), after: 59,
            then: get(ttl), is: .hit),
        row("Larder-TTL: ends", noStore, asked: get(ttl), after: 60, then: get(ttl), is: .forwarded),
        row("Larder-TTL: not for callers without", noStore, asked: get(ttl), is: .forwarded),
        row(
            "Larder-TTL: nothing for a caller who comes later", noStore, then: get(ttl), is: .forwarded),
        row(
            "Larder-TTL: before private", ok("Cache-Control: private"), asked: get(ttl), then: get(ttl),
            is: .hit),
        row(
            "Larder-TTL: before no-cache", ok("Cache-Control: no-cache", v1), asked: get(ttl),
            then: get(ttl), is: .hit),
        row(
            "Larder-TTL: but not for others", ok("Cache-Control: no-cache", v1), asked: get(ttl),
            now: notModified(),
            is: .revalidated),
        row(
            "Larder-TTL: stays when a caller without one has it validated", ok("Cache-Control: no-cache", v1),
            asked: get(ttl), meanwhile: step(after: 1, get(), gets: notModified()), then: get(ttl), is: .hit),
        row("Larder-TTL: where nothing is stated", ok(), asked: get(ttl), then: get(ttl), is: .hit),
        row(
            "Larder-TTL: before a longer max-age", ok(hour), asked: get(ttl), after: 61, then: get(ttl),
            is: .forwarded),
        row(
            "Larder-TTL: others go by the longer max-age", ok(hour), asked: get(ttl), after: 61, is: .hit),
        row(
            "Larder-TTL: before a shorter max-age", ok("Cache-Control: max-age=1"), asked: get(ttl),
            after: 59,
            then: get(ttl), is: .hit),
        row(
            "Larder-TTL: others go by the shorter max-age", ok("Cache-Control: max-age=1"),
            asked: get(ttl), after: 59,
            is: .forwarded),
        row(
            "Larder-TTL: a redirect", answer(302, "Location: /x"), asked: get(ttl), then: get(ttl),
            is: .hit),
        row("Larder-TTL: not an error", answer(500), asked: get(ttl), then: get(ttl), is: .forwarded),
        row("Larder-TTL: not Vary: *", ok("Vary: *"), asked: get(ttl), then: get(ttl), is: .forwarded),
        row(
            "Larder-TTL: not POST", ok(), asked: ask("POST", ttl, body: "x"), then: get(ttl),
            is: .forwarded),
        row(
            "Larder-TTL: the same Authorization", ok(), asked: by("a", ttl), then: by("a", ttl), is: .hit),
        row(
            "Larder-TTL: another Authorization", ok(), asked: by("a", ttl), then: by("b", ttl),
            is: .forwarded),
        row("Larder-TTL: no Authorization", ok(), asked: by("a", ttl), then: get(ttl), is: .forwarded),
        row(
            "Larder-Update-Expiry: a hit moves the end",
            noStore, asked: get(ttl),
            meanwhile: step(after: 50, get(ttl, "Larder-Update-Expiry: true"), gets: noStore),
            after: 50, then: get(ttl), is: .hit),
        row(
            "Larder-Update-Expiry: without it nothing moves", noStore, asked: get(ttl),
            meanwhile: step(after: 50, get(ttl), gets: noStore), after: 50, then: get(ttl), is: .forwarded
        ),
        row(
            "Larder-TTL: only-if-cached", noStore, asked: get(ttl),
            then: get(ttl, "Cache-Control: only-if-cached"),
            is: .hit),
        row(
            "Larder-TTL: no-cache in the request", noStore, asked: get(ttl),
            then: get(ttl, "Cache-Control: no-cache"),
            is: .forwarded),
        row(
            "Larder-*: nothing is sent on", ok(),
            then: get(
                ttl, "Larder-Update-Expiry: true", "Larder-Tags: a", "Larder-Foo: x"),
            is: .forwarded, .sawNo("Larder-TTL"), .sawNo("Larder-Update-Expiry"), .sawNo("Larder-Tags"),
            .sawNo("Larder-Foo")),
    ]
}
