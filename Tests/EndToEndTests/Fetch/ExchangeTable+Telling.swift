import Testing

/// Fields about the path of an answer: Cache-Status (RFC 9211), Via, and hop-by-hop fields (RFC 9110 §7.6).
extension ExchangeTable {
    private static let missed = Exchange.Ask(suffix: "x")

    static let telling: [Exchange] = [
        row(
            "9211 §2.1, §2.4: a hit reports its ttl and key", ok(hour), after: 60, is: .hit,
            .tells("hit; ttl=3540; key=\"")),
        row(
            "9211 §2.2: a miss reports fwd=uri-miss, stored, ttl and key", ok(hour), then: missed, is: .forwarded,
            .tells("larder; fwd=uri-miss; stored; ttl=3600; key=\"")),
        row(
            "9211 §2.2: a stale answer reports fwd=stale, stored and ttl", ok(minute), after: 61, is: .forwarded,
            .tells("fwd=stale; stored; ttl=60")
        ),
        row(
            "9211 §2.3: a validation reports fwd-status=304", ok(minute, v1), after: 61, now: notModified(v1),
            is: .revalidated,
            .tells("fwd=stale; fwd-status=304; stored; ttl=60")),
        row(
            "9211 §2.3: fwd-status is left out if it equals the answer's status", answer(404, hour), then: missed,
            is: .forwarded,
            .tellsNo("fwd-status")),
        row(
            "9211 §2.5: an answer with no-store reports its reason and not stored", ok("Cache-Control: no-store"),
            is: .forwarded,
            .tellsNo("stored"),
            .tells("detail=no-store")),
        row(
            "9211 §2.5: an answer without a lifetime reports its reason and not stored", ok(), is: .forwarded,
            .tellsNo("stored"),
            .tells("detail=no-freshness")),
        row(
            "9211 §2.5: a private answer reports its reason", ok("Cache-Control: private"), is: .forwarded,
            .tells("detail=private")),
        row(
            "9211 §2.5: an answer with an unstorable status reports its reason", answer(429, hour), is: .forwarded,
            .tells("detail=status")),
        row(
            "9211 §2.5: an answer with must-understand and an unknown status reports its reason",
            answer(299, "Cache-Control: must-understand, max-age=60"),
            is: .forwarded,
            .tells("detail=must-understand")),
        row(
            "9211 §2.2: a DELETE reports fwd=method and not stored", ok(hour), then: ask("DELETE"), is: .forwarded,
            .tells("fwd=method"),
            .tellsNo("stored")),
        row(
            "9211 §2.4: a stale hit reports a negative ttl", ok(minute), after: 100,
            then: get("Cache-Control: max-stale"),
            is: .stale,
            .tells("ttl=-40")),
        row(
            "9211 §2: Larder's member stands behind the members nearer to the origin",
            ok("Cache-Control: no-store", "Cache-Status: a; hit", "Cache-Status: b; fwd=miss"),
            is: .forwarded,
            .field("Cache-Status", ["a; hit", "b; fwd=miss", "larder; fwd=uri-miss; detail=no-store"])),
        row("9110 §7.6.3: Via names Larder to the client", ok(hour), is: .hit, .field("Via", ["1.1 larder"])),
        row(
            "9110 §7.6.3: Via names Larder to the client, behind earlier proxies", ok(hour, "Via: 1.1 a"), is: .hit,
            .field("Via", ["1.1 a", "1.1 larder"])),
        row(
            "9110 §7.6.3: Via names Larder to the origin", ok(), then: get("Via: 1.0 b"), is: .forwarded,
            .saw("Via", "1.0 b, 1.1 larder")),
        row(
            "9111 §3: field lines come back in order and unchanged",
            ok(hour, "B: 2", "A: 1", "B: 1", "a: 3"), is: .hit,
            .field("B", ["2", "1"]), .field("A", ["1", "3"])),
        row(
            "9110 §15.4: a redirect is passed on", answer(302, "Location: /elsewhere"), is: .forwarded,
            .field("Location", ["/elsewhere"])),
        row(
            "9110 §8.4: an encoding is passed on", ok(hour, "Content-Encoding: gzip"), is: .hit,
            .field("Content-Encoding", ["gzip"])),
    ]

    static let hops: [Exchange] = fromOrigin + toOrigin + named

    private static let named: [Exchange] = [
        row(
            "9110 §7.6.1: a field that Connection names in an answer is dropped",
            ok(hour, "Connection: X-Hop, close", "X-Hop: 1", "X-End: 1"),
            is: .hit, .lacks("X-Hop"), .field("X-End", ["1"])),
        row(
            "9110 §7.6.1: a field that Connection names in a request is dropped", ok(),
            then: get("Connection: X-Hop, close", "X-Hop: 1", "X-End: 1"), is: .forwarded,
            .sawNo("X-Hop"),
            .saw("X-End", "1")),
        row(
            "9110 §7.6.1: Connection names fields without case",
            ok(hour, "Connection: x-hOP", "X-Hop: 1"), is: .hit,
            .lacks("X-Hop")),
        row(
            "9110 §7.6.1: a field that the second Connection line names is dropped",
            ok(hour, "Connection: close", "Connection: X-Hop", "X-Hop: 1"),
            is: .hit, .lacks("X-Hop")),
    ]

    private static let hopByHop = [
        "Keep-Alive: timeout=5", "Proxy-Connection: keep-alive", "TE: trailers", "Trailer: X",
        "Upgrade: foo",
        "Proxy-Authenticate: Basic", "Proxy-Authentication-Info: a=b",
        "Proxy-Authorization: Basic YQ==",
    ]

    private static func name(_ line: String) -> String { String(line.prefix { $0 != ":" }) }

    private static let fromOrigin: [Exchange] = hopByHop.map { line in
        row(
            "9110 §7.6.1, 9111 §3.1: \(name(line)) of an answer is not stored", ok(hour, line), is: .hit,
            .lacks(name(line)))
    }

    private static let toOrigin: [Exchange] = hopByHop.map { line in
        row(
            "9110 §7.6.1: \(name(line)) of a request is not sent on", ok(line), then: get(line),
            is: .forwarded,
            .sawNo(name(line)), .lacks(name(line)))
    }
}
