import Testing

/// Which statuses are kept (RFC 9111 §3), and for how long when the origin does not say so (§4.2.2).
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
            "9111 §4.2.2: \(status) is fresh for a while by its own", reply(status, longAgo), after: 60,
            is: Exchange.Outcome.hit)
    }

    private static let noFreshness: [Exchange] = [
        201, 202, 302, 303, 307, 400, 401, 403, 409, 418, 451, 500, 502, 503, 504,
    ].map { status in
        row("9111 §4.2.2: \(status) is not fresh by its own", reply(status, longAgo), is: Exchange.Outcome.forwarded)
    }

    private static let byPublic: [Exchange] = [302, 307, 403, 451, 503, 599].map { status in
        row(
            "9111 §5.2.2.9: public allows \(status) to be fresh for a while",
            reply(status, longAgo, "Cache-Control: public"), after: 60, is: Exchange.Outcome.hit)
    }

    private static let explicit: [Exchange] = [
        200, 201, 202, 203, 204, 226, 299, 300, 301, 302, 303, 307, 308, 399, 400, 401, 402, 403, 404, 405, 408, 409,
        410, 413, 414, 418, 421, 422, 425, 451, 499, 500, 501, 502, 503, 504, 505, 599,
    ].map { status in
        row("9111 §3: \(status) with max-age", reply(status, hour), after: 60, is: Exchange.Outcome.hit)
    }

    private static let ofOneRequest: [Exchange] = [412, 416, 428, 429, 431, 511].map { status in
        row(
            "9111 §3, 6585 §3: \(status) is about one request", reply(status, hour), is: Exchange.Outcome.forwarded)
    }

    private static let heuristics: [Exchange] = [
        row(
            "9111 §4.2.2: a tenth of the time since it was modified", ok("Last-Modified: \(at(-600))"), after: 59,
            is: .hit),
        row(
            "9111 §4.2.2: no more than a tenth", ok("Last-Modified: \(at(-600))"), after: 60, now: notModified(),
            is: .revalidated, .saw("If-Modified-Since", at(-600))),
        row("9111 §4.2.2: no more than a week", ok("Last-Modified: \(at(-1_000_000_000))"), after: 604_799, is: .hit),
        row(
            "9111 §4.2.2: a week is enough", ok("Last-Modified: \(at(-1_000_000_000))"), after: 604_800,
            now: notModified(), is: .revalidated),
        row("9111 §4.2.2: nothing without Last-Modified", ok(v1), after: 0, now: notModified(), is: .revalidated),
        row(
            "9111 §4.2.2: nothing for what is modified in the future", ok("Last-Modified: \(at(600))"), after: 0,
            now: notModified(), is: .revalidated),
        row(
            "9111 §4.2.2: up to Date", ok("Date: \(at(-100))", "Last-Modified: \(at(-1100))"), after: 0,
            now: notModified(), is: .revalidated),
        row(
            "9111 §4.2.2: not where something is stated", ok("Cache-Control: max-age=1", longAgo), after: 60,
            now: notModified(), is: .revalidated),
        row(
            "9111 §4.2.2: not where what is stated cannot be read", ok("Expires: 0", longAgo), now: notModified(),
            is: .revalidated),
        row(
            "9111 §4.2.2: must-revalidate does not forbid it", ok("Cache-Control: must-revalidate", longAgo), after: 60,
            is: .hit),
        row(
            "9111 §4.2.2: but no-cache does", ok("Cache-Control: no-cache", longAgo), now: notModified(),
            is: .revalidated),
        row("9111 §7.3: and a cookie", ok(longAgo, "Set-Cookie: a=1"), is: .forwarded, .tells("detail=set-cookie")),
        row(
            "9111 §7.3: also beside public", ok("Cache-Control: public", longAgo, "Set-Cookie: a=1"), is: .forwarded,
            .tells("detail=set-cookie")),
        row(
            "9111 §7.3: also of a redirect", answer(301, longAgo, "Location: /x", "Set-Cookie: a=1"), is: .forwarded),
        row("9111 §7.3: but not a stated lifetime", ok(hour, longAgo, "Set-Cookie: a=1"), after: 60, is: .hit),
        row(
            "9111 §7.3: a lifetime of zero is none", ok("Cache-Control: max-age=0, must-revalidate", v1, cookie),
            is: .forwarded, .tells("detail=set-cookie")),
        row(
            "9111 §7.3: nor is s-maxage=0", ok("Cache-Control: s-maxage=0, max-age=60", v1, cookie), is: .forwarded,
            .tells("detail=set-cookie")),
        row("9111 §7.3: nor Expires: 0", ok("Expires: 0", v1, cookie), is: .forwarded, .tells("detail=set-cookie")),
        row(
            "9111 §7.3: nor one that cannot be read", ok("Cache-Control: max-age=abc", v1, cookie), is: .forwarded,
            .tells("detail=set-cookie")),
        row(
            "9111 §7.3: nor zero with a time to be stale",
            ok("Cache-Control: max-age=0, stale-while-revalidate=60", cookie),
            is: .forwarded, .tells("detail=set-cookie")),
        row(
            "9111 §7.3: nor one beside no-cache", ok("Cache-Control: max-age=60, no-cache", v1, cookie),
            is: .forwarded, .tells("detail=set-cookie")),
        row(
            "9111 §7.3: a caller's ttl keeps the answer without its cookie", ok(hour, cookie),
            asked: get("Larder-TTL: 60"),
            then: get("Larder-TTL: 60"), is: .hit, .lacks("Set-Cookie")),
        row("9111 §4.2.2: and no-store", ok("Cache-Control: no-store", longAgo), is: .forwarded),
    ]
}
