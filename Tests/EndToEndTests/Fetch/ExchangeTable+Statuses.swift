import Testing

/// Exchanges that show, for each status, whether an answer is stored (RFC 9111 §3), and which lifetime it has if the
/// origin states none (RFC 9111 §4.2.2).
extension ExchangeTable {
    private static let cookie = "Set-Cookie: a=1"
    private static let longAgo = "Last-Modified: \(at(-100_000))"

    private static func reply(_ status: Int, _ lines: String...) -> Exchange.Answer {
        Exchange.Answer(status: status, lines: lines, body: status == 204 ? "" : nil)
    }

    static let statuses = ownFreshness + noFreshness + byPublic + explicit + ofOneRequest + heuristics

    private static let ownFreshness: [Exchange] = [200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501].map {
        status in
        row(
            "9111 §4.2.2: \(status) has a heuristic lifetime", reply(status, longAgo), after: 60,
            is: Exchange.Outcome.hit)
    }

    private static let noFreshness: [Exchange] = [
        201, 202, 302, 303, 307, 400, 401, 403, 409, 418, 451, 500, 502, 503, 504,
    ].map { status in
        row("9111 §4.2.2: \(status) has no heuristic lifetime", reply(status, longAgo), is: Exchange.Outcome.forwarded)
    }

    private static let byPublic: [Exchange] = [302, 307, 403, 451, 503, 599].map { status in
        row(
            "9111 §5.2.2.9: public gives \(status) a heuristic lifetime",
            reply(status, longAgo, "Cache-Control: public"), after: 60, is: Exchange.Outcome.hit)
    }

    private static let explicit: [Exchange] = [
        200, 201, 202, 203, 204, 226, 299, 300, 301, 302, 303, 307, 308, 399, 400, 401, 402, 403, 404, 405, 408, 409,
        410, 413, 414, 418, 421, 422, 425, 451, 499, 500, 501, 502, 503, 504, 505, 599,
    ].map { status in
        row("9111 §3: \(status) with max-age is stored", reply(status, hour), after: 60, is: Exchange.Outcome.hit)
    }

    private static let ofOneRequest: [Exchange] = [412, 416, 428, 429, 431, 511].map { status in
        row(
            "9111 §3, 6585 §3: \(status) is about one request and is not stored", reply(status, hour),
            is: Exchange.Outcome.forwarded)
    }

    private static let heuristics: [Exchange] = [
        row(
            "9111 §4.2.2: the heuristic lifetime is a tenth of the time since Last-Modified",
            ok("Last-Modified: \(at(-600))"), after: 59,
            is: .hit),
        row(
            "9111 §4.2.2: the heuristic lifetime ends after a tenth of the time since Last-Modified",
            ok("Last-Modified: \(at(-600))"), after: 60, now: notModified(),
            is: .revalidated, .saw("If-Modified-Since", at(-600))),
        row(
            "9111 §4.2.2: a heuristic lifetime may last a week", ok("Last-Modified: \(at(-1_000_000_000))"),
            after: 604_799, is: .hit),
        row(
            "9111 §4.2.2: a heuristic lifetime ends after a week", ok("Last-Modified: \(at(-1_000_000_000))"),
            after: 604_800,
            now: notModified(), is: .revalidated),
        row(
            "9111 §4.2.2: an answer without Last-Modified has no heuristic lifetime", ok(v1), after: 0,
            now: notModified(), is: .revalidated),
        row(
            "9111 §4.2.2: a Last-Modified in the future gives no heuristic lifetime", ok("Last-Modified: \(at(600))"),
            after: 0,
            now: notModified(), is: .revalidated),
        row(
            "9111 §4.2.2: the heuristic lifetime is computed from Last-Modified to Date",
            ok("Date: \(at(-100))", "Last-Modified: \(at(-1100))"), after: 0,
            now: notModified(), is: .revalidated),
        row(
            "9111 §4.2.2: a stated lifetime excludes a heuristic lifetime", ok("Cache-Control: max-age=1", longAgo),
            after: 60,
            now: notModified(), is: .revalidated),
        row(
            "9111 §4.2.2: an invalid stated lifetime excludes a heuristic lifetime", ok("Expires: 0", longAgo),
            now: notModified(),
            is: .revalidated),
        row(
            "9111 §4.2.2: must-revalidate does not exclude a heuristic lifetime",
            ok("Cache-Control: must-revalidate", longAgo), after: 60,
            is: .hit),
        row(
            "9111 §4.2.2: no-cache excludes a heuristic lifetime", ok("Cache-Control: no-cache", longAgo),
            now: notModified(),
            is: .revalidated),
        row(
            "9111 §7.3: a cookie excludes a heuristic lifetime", ok(longAgo, "Set-Cookie: a=1"), is: .forwarded,
            .tells("detail=set-cookie")),
        row(
            "9111 §7.3: a cookie excludes a heuristic lifetime beside public",
            ok("Cache-Control: public", longAgo, "Set-Cookie: a=1"), is: .forwarded,
            .tells("detail=set-cookie")),
        row(
            "9111 §7.3: a cookie excludes a heuristic lifetime of a redirect",
            answer(301, longAgo, "Location: /x", "Set-Cookie: a=1"), is: .forwarded),
        row(
            "9111 §7.3: a cookie does not exclude a stated lifetime", ok(hour, longAgo, "Set-Cookie: a=1"), after: 60,
            is: .hit),
        row(
            "9111 §7.3: a cookie excludes storing with a lifetime of zero",
            ok("Cache-Control: max-age=0, must-revalidate", v1, cookie),
            is: .forwarded, .tells("detail=set-cookie")),
        row(
            "9111 §7.3: a cookie excludes storing with s-maxage=0",
            ok("Cache-Control: s-maxage=0, max-age=60", v1, cookie), is: .forwarded,
            .tells("detail=set-cookie")),
        row(
            "9111 §7.3: a cookie excludes storing with Expires: 0", ok("Expires: 0", v1, cookie), is: .forwarded,
            .tells("detail=set-cookie")),
        row(
            "9111 §7.3: a cookie excludes storing with an invalid lifetime",
            ok("Cache-Control: max-age=abc", v1, cookie), is: .forwarded,
            .tells("detail=set-cookie")),
        row(
            "9111 §7.3: a cookie excludes storing with max-age=0 and stale-while-revalidate",
            ok("Cache-Control: max-age=0, stale-while-revalidate=60", cookie),
            is: .forwarded, .tells("detail=set-cookie")),
        row(
            "9111 §7.3: a cookie excludes storing with no-cache", ok("Cache-Control: max-age=60, no-cache", v1, cookie),
            is: .forwarded, .tells("detail=set-cookie")),
        row(
            "9111 §7.3: a caller's ttl stores the answer without its cookie", ok(hour, cookie),
            asked: get("Larder-TTL: 60"),
            then: get("Larder-TTL: 60"), is: .hit, .lacks("Set-Cookie")),
        row(
            "9111 §4.2.2: no-store excludes a heuristic lifetime", ok("Cache-Control: no-store", longAgo),
            is: .forwarded),
    ]
}
