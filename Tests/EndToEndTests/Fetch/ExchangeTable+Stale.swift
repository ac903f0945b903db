import Testing

/// Stale answers (RFC 9111 §4.2.4, RFC 5861), and answers for certain callers only (RFC 9111 §3.5, Larder-TTL).
extension ExchangeTable {
    private static func control(_ text: String) -> String { "Cache-Control: max-age=60, " + text }
    private static let behind = ok(control("stale-while-revalidate=60"), v1)
    private static let onError = ok(control("stale-if-error=60"), v1)

    static let stale: [Exchange] = [
        row(
            "5861 §3: a stale answer is served and revalidated within stale-while-revalidate", behind, after: 61,
            is: .staleWhileRevalidated,
            .saw("If-None-Match", "\"v1\"")),
        row(
            "5861 §3: stale-while-revalidate holds until its last second", behind, after: 119,
            is: .staleWhileRevalidated, .age(119)),
        row("5861 §3: stale-while-revalidate ends with its last second", behind, after: 120, is: .replaced),
        row(
            "5861 §3: stale-while-revalidate holds without a validator", ok(control("stale-while-revalidate=60")),
            after: 61,
            is: .staleWhileRevalidated),
        row("5861 §3: a fresh answer is not revalidated in the background", behind, after: 59, is: .hit),
        row(
            "5861 §3: the request after a background refresh gets the new answer", behind,
            meanwhile: step(after: 61, get(), gets: ok(hour)),
            is: .hit,
            .body("body 2")),
        row(
            "5861 §3: the request after a background 304 gets a fresh hit", behind,
            meanwhile: step(after: 61, get(), gets: notModified(v1)),
            after: 59, is: .hit),
        row(
            "5861 §3: the request after a failed background refresh gets the stale answer", behind,
            meanwhile: step(after: 61, get(), gets: answer(500)),
            is: .staleWhileRevalidated),
        row(
            "5861 §3: a stale-while-revalidate without a number is ignored",
            ok(control("stale-while-revalidate=x"), v1),
            after: 61,
            is: .replaced),
        row(
            "9111 §5.2.2.2: must-revalidate overrides stale-while-revalidate",
            ok(control("stale-while-revalidate=60, must-revalidate"), v1),
            after: 61, is: .replaced),
        row(
            "9111 §5.2.2.4: no-cache overrides stale-while-revalidate",
            ok(control("stale-while-revalidate=60, no-cache"), v1),
            after: 61,
            is: .replaced),
        row(
            "9111 §5.2.1.1: max-age in the request overrides stale-while-revalidate", behind, after: 61,
            then: get("Cache-Control: max-age=3600"), is: .replaced),
        row(
            "9111 §5.2.1.4: no-cache in the request overrides stale-while-revalidate", behind, after: 61,
            then: get("Cache-Control: no-cache"),
            is: .replaced),

        row(
            "5861 §4: a 500 within stale-if-error gets the stale answer", onError, after: 61, now: answer(500),
            is: .staleAfterError,
            .tells("fwd-status=500")),
        row(
            "5861 §4: a 502 within stale-if-error gets the stale answer", onError, after: 61, now: answer(502),
            is: .staleAfterError),
        row(
            "5861 §4: a 503 within stale-if-error gets the stale answer", onError, after: 61, now: answer(503),
            is: .staleAfterError),
        row(
            "5861 §4: a 504 within stale-if-error gets the stale answer", onError, after: 61, now: answer(504),
            is: .staleAfterError),
        row("5861 §4: a 501 is passed on despite stale-if-error", onError, after: 61, now: answer(501), is: .replaced),
        row("5861 §4: a 404 is passed on despite stale-if-error", onError, after: 61, now: answer(404), is: .replaced),
        row(
            "5861 §4: a 500 after the end of stale-if-error is passed on", onError, after: 121, now: answer(500),
            is: .replaced),
        row(
            "5861 §4: a 503 without stale-if-error is passed on", ok(minute, v1), after: 61, now: answer(503),
            is: .replaced),
        row(
            "5861 §4: stale-if-error in the request gets the stale answer for a 503", ok(minute, v1), after: 61,
            then: get("Cache-Control: stale-if-error=60"), now: answer(503), is: .staleAfterError),
        row(
            "5861 §4: a shorter stale-if-error in the request overrides the answer's", onError, after: 100,
            then: get("Cache-Control: stale-if-error=10"),
            now: answer(503), is: .replaced),
        row(
            "9111 §5.2.2.2: must-revalidate overrides stale-if-error",
            ok(control("stale-if-error=60, must-revalidate"), v1),
            after: 61, now: answer(500), is: .replaced),
        row(
            "5861 §4: stale-if-error holds without a validator", ok(control("stale-if-error=60")), after: 61,
            now: answer(500),
            is: .staleAfterError),
        row(
            "5861 §4: a stored 500 does not stand in for a 503", answer(500, control("stale-if-error=3600")), after: 61,
            now: answer(503, minute), is: .forwarded),
        row(
            "5861 §4: a newer error replaces a stored 500", answer(500, control("stale-if-error=3600")),
            meanwhile: step(after: 61, get(), gets: answer(503, minute)), is: .hit, .status(503), .body("body 2")),
        row(
            "5861 §4: a stored 503 with a validator does not stand in for a 500",
            answer(503, control("stale-if-error=3600"), v1), after: 61,
            now: answer(500), is: .replaced),
        row(
            "5861 §4: a stored 503 does not stand in for a 500 under stale-if-error in the request",
            answer(503, minute), after: 61,
            then: get("Cache-Control: stale-if-error=3600"), now: answer(500), is: .forwarded),
        row(
            "5861 §3: a stored 503 is not served while it is revalidated",
            answer(503, control("stale-while-revalidate=3600")), after: 61,
            now: ok(minute), is: .forwarded),
        row(
            "9111 §4.2.4: a stored 503 does not stand in for an unreachable origin",
            answer(503, control("stale-if-error=3600")),
            after: 61, now: nothing, is: .failed(502)),
        row(
            "5861 §4: a stored 404 does not stand in for a 503", answer(404, control("stale-if-error=3600")), after: 61,
            now: answer(503), is: .forwarded),
        row(
            "5861 §4: a stored 403 with a validator does not stand in for a 500",
            answer(403, control("stale-if-error=3600"), v1), after: 61,
            now: answer(500), is: .replaced),
        row(
            "5861 §4: a stored 410 does not stand in for a 502 under stale-if-error in the request",
            answer(410, minute), after: 61,
            then: get("Cache-Control: stale-if-error=3600"), now: answer(502), is: .forwarded),
        row(
            "5861 §4: a stored 401 does not stand in for a 504", answer(401, control("stale-if-error=3600")), after: 61,
            now: answer(504),
            is: .forwarded),
        row(
            "9111 §4.2.4: a stored 404 stands in for an unreachable origin", answer(404, minute), after: 61,
            now: nothing, is: .staleAfterError),

        row(
            "9111 §4.2.4: a stale answer stands in for an unreachable origin", ok(minute, v1), after: 61, now: nothing,
            is: .staleAfterError,
            .age(61)),
        row(
            "9111 §4.2.4: a stale answer without a validator stands in for an unreachable origin", ok(minute),
            after: 61, now: nothing,
            is: .staleAfterError),
        row(
            "5861 §4: a stale answer within stale-if-error stands in for an unreachable origin", onError, after: 61,
            now: nothing,
            is: .staleAfterError),
        row(
            "5861 §4: an unreachable origin gives 502 after the end of stale-if-error", onError, after: 121,
            now: nothing,
            is: .failed(502)),
        row(
            "9111 §5.2.1.4: an unreachable origin gives 502 under no-cache in the request", ok(hour, v1),
            then: get("Cache-Control: no-cache"), now: nothing, is: .failed(502)),
        row(
            "9111 §5.2.1.1: an unreachable origin gives 502 under max-age in the request", ok(hour, v1), after: 61,
            then: get("Cache-Control: max-age=60"), now: nothing, is: .failed(502)),
        row(
            "9111 §5.2.1.2: an unreachable origin gives 502 beyond max-stale in the request", ok(minute, v1),
            after: 100,
            then: get("Cache-Control: max-stale=10"), now: nothing, is: .failed(502)),
        row(
            "9110 §15.6.3: an unreachable origin gives 502 on a miss", ok(minute), then: get(at: "x"), now: nothing,
            is: .failed(502)),
        row(
            "9111 §4.2.4: a stale answer to HEAD stands in for an unreachable origin", ok(minute, v1), after: 61,
            then: head(), now: nothing,
            is: .staleAfterError),
        row(
            "9111 §4.2.4: If-None-Match gets 304 from a stale answer of an unreachable origin", ok(minute, v1),
            after: 61,
            then: get("If-None-Match: \"v1\""),
            now: nothing, is: .staleAfterError, .status(304), .body("")),
        row(
            "9111 §4.2.4: an unreachable origin gives 502 for POST", ok(hour), then: ask("POST"), now: nothing,
            is: .failed(502)
        ),
    ]

    private static func by(_ user: String, _ lines: String...) -> Exchange.Ask {
        Exchange.Ask(lines: ["Authorization: \(user)"] + lines)
    }

    static let authorization: [Exchange] = [
        row("9111 §3.5: an answer to Authorization is not stored", ok(hour), asked: by("a"), is: .forwarded),
        row(
            "9111 §3.5: an answer to Authorization is not reused for the same user", ok(hour), asked: by("a"),
            then: by("a"),
            is: .forwarded,
            .tells("detail=authorization"), .saw("Authorization", "a")),
        row(
            "9111 §3.5: public allows the reuse of an answer to Authorization", ok("Cache-Control: public, max-age=60"),
            asked: by("a"), then: by("b"),
            is: .hit),
        row(
            "9111 §3.5: s-maxage allows the reuse of an answer to Authorization", ok("Cache-Control: s-maxage=60"),
            asked: by("a"), then: by("b"),
            is: .hit),
        row(
            "9111 §3.5: must-revalidate allows the reuse of an answer to Authorization",
            ok("Cache-Control: max-age=60, must-revalidate"),
            asked: by("a"), is: .hit),
        row(
            "9111 §3.5: proxy-revalidate does not allow the reuse of an answer to Authorization",
            ok("Cache-Control: max-age=60, proxy-revalidate"),
            asked: by("a"), is: .forwarded),
        row(
            "9111 §3.5: public in CDN-Cache-Control allows the reuse of an answer to Authorization",
            ok("CDN-Cache-Control: public, max-age=60"), asked: by("a"),
            is: .hit),
        row("9111 §3.5: a stored answer serves requests with Authorization", ok(hour), then: by("a"), is: .hit),
        row(
            "9111 §4.1: Vary: Authorization keeps the answers of two users apart",
            ok("Cache-Control: public, max-age=60", "Vary: Authorization"),
            asked: by("a"), then: by("b"), is: .forwarded),
    ]

    private static let ttl = "Larder-TTL: 60"
    private static let noStore = ok("Cache-Control: no-store")

    static let callers: [Exchange] = [
        row(
            "Larder-TTL: the ttl overrides the origin's no-store", noStore, asked: get(ttl), after: 59,
            then: get(ttl), is: .hit),
        row(
            "Larder-TTL: an answer is fetched again at the end of the ttl", noStore, asked: get(ttl), after: 60,
            then: get(ttl), is: .forwarded),
        row(
            "Larder-TTL: a caller without a ttl does not get an answer stored for a ttl", noStore, asked: get(ttl),
            is: .forwarded),
        row(
            "Larder-TTL: a caller with a ttl gets no earlier answer with no-store", noStore, then: get(ttl),
            is: .forwarded),
        row(
            "Larder-TTL: the ttl overrides private", ok("Cache-Control: private"), asked: get(ttl), then: get(ttl),
            is: .hit),
        row(
            "Larder-TTL: the ttl overrides no-cache", ok("Cache-Control: no-cache", v1), asked: get(ttl),
            then: get(ttl), is: .hit),
        row(
            "Larder-TTL: callers without a ttl still obey no-cache", ok("Cache-Control: no-cache", v1), asked: get(ttl),
            now: notModified(),
            is: .revalidated),
        row(
            "Larder-TTL: the ttl survives a validation by a caller without a ttl", ok("Cache-Control: no-cache", v1),
            asked: get(ttl), meanwhile: step(after: 1, get(), gets: notModified()), then: get(ttl), is: .hit),
        row("Larder-TTL: the ttl stores an answer without a lifetime", ok(), asked: get(ttl), then: get(ttl), is: .hit),
        row(
            "Larder-TTL: the ttl overrides a longer max-age", ok(hour), asked: get(ttl), after: 61, then: get(ttl),
            is: .forwarded),
        row(
            "Larder-TTL: callers without a ttl use the longer max-age", ok(hour), asked: get(ttl), after: 61, is: .hit),
        row(
            "Larder-TTL: the ttl overrides a shorter max-age", ok("Cache-Control: max-age=1"), asked: get(ttl),
            after: 59,
            then: get(ttl), is: .hit),
        row(
            "Larder-TTL: callers without a ttl use the shorter max-age", ok("Cache-Control: max-age=1"),
            asked: get(ttl), after: 59,
            is: .forwarded),
        row(
            "Larder-TTL: the ttl stores a redirect", answer(302, "Location: /x"), asked: get(ttl), then: get(ttl),
            is: .hit),
        row(
            "Larder-TTL: the ttl does not store an error", answer(500), asked: get(ttl), then: get(ttl),
            is: .forwarded),
        row(
            "Larder-TTL: the ttl does not store an answer with Vary: *", ok("Vary: *"), asked: get(ttl), then: get(ttl),
            is: .forwarded),
        row(
            "Larder-TTL: the ttl does not store an answer to POST", ok(), asked: ask("POST", ttl, body: "x"),
            then: get(ttl),
            is: .forwarded),
        row(
            "Larder-TTL: an answer is reused for the same Authorization", ok(), asked: by("a", ttl), then: by("a", ttl),
            is: .hit),
        row(
            "Larder-TTL: an answer is not reused for another Authorization", ok(), asked: by("a", ttl),
            then: by("b", ttl),
            is: .forwarded),
        row(
            "Larder-TTL: an answer to Authorization is not reused without Authorization", ok(), asked: by("a", ttl),
            then: get(ttl), is: .forwarded),
        row(
            "Larder-Update-Expiry: a hit with this field moves the expiry",
            noStore, asked: get(ttl),
            meanwhile: step(after: 50, get(ttl, "Larder-Update-Expiry: true"), gets: noStore),
            after: 50, then: get(ttl), is: .hit),
        row(
            "Larder-Update-Expiry: a hit without this field does not move the expiry", noStore, asked: get(ttl),
            meanwhile: step(after: 50, get(ttl), gets: noStore), after: 50, then: get(ttl), is: .forwarded
        ),
        row(
            "Larder-TTL: only-if-cached gets an answer stored for a ttl", noStore, asked: get(ttl),
            then: get(ttl, "Cache-Control: only-if-cached"),
            is: .hit),
        row(
            "Larder-TTL: no-cache in the request overrides the ttl", noStore, asked: get(ttl),
            then: get(ttl, "Cache-Control: no-cache"),
            is: .forwarded),
        row(
            "Larder-*: Larder's own fields are not sent to the origin", ok(),
            then: get(
                ttl, "Larder-Update-Expiry: true", "Larder-Tags: a", "Larder-Foo: x"),
            is: .forwarded, .sawNo("Larder-TTL"), .sawNo("Larder-Update-Expiry"), .sawNo("Larder-Tags"),
            .sawNo("Larder-Foo")),
    ]
}
