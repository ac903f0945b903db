import Testing

/// Methods (RFC 9110 §9), and what they make of what is stored (RFC 9111 §4.4, RFC 9875).
extension ExchangeTable {
    private static let stored = ok(hour, v1)

    /// A stored answer to GET, and whether it is still there after another request for the same URL.
    private static func after(
        _ method: String, _ answer: Exchange.Answer, is outcome: Exchange.Outcome
    ) -> Exchange {
        row(
            "9111 §4.4: GET after \(method) with \(answer.status)", stored,
            meanwhile: step(ask(method), gets: answer), is: outcome)
    }

    private static let changes: [Exchange] = ["POST", "PUT", "DELETE", "PATCH", "LOCK", "FOO"].map {
        method in
        after(method, answer(200), is: .forwarded)
    }

    private static let reads: [Exchange] = [
        "HEAD", "OPTIONS", "TRACE", "PROPFIND", "REPORT", "SEARCH", "QUERY",
    ].map {
        after($0, answer(200), is: .hit)
    }

    private static let successes: [Exchange] = [201, 202, 204, 226, 301, 302, 303, 307, 308].map {
        status in
        after("POST", answer(status, body: status == 204 ? "" : nil), is: .forwarded)
    }

    private static let errors: [Exchange] = [400, 403, 404, 412, 500, 503].map { status in
        after("POST", answer(status), is: .hit)
    }

    /// A stored answer at `x`, and whether it is still there after a POST to the row's URL.
    private static func other(_ name: String, _ posted: Exchange.Answer, is outcome: Exchange.Outcome)
        -> Exchange
    {
        row(
            name, stored, asked: get(at: "x"), meanwhile: step(ask("POST"), gets: posted),
            then: get(at: "x"),
            is: outcome)
    }

    private static let locations: [Exchange] = [
        other("9111 §4.4: another URL stays", answer(204), is: .hit),
        other("9111 §4.4: Location", answer(201, "Location: {path}~x"), is: .forwarded),
        other("9111 §4.4: an absolute Location", answer(303, "Location: {url}~x"), is: .forwarded),
        other(
            "9111 §4.4: Location with a fragment", answer(303, "Location: {path}~x#top"), is: .forwarded),
        other("9111 §4.4: Content-Location", ok("Content-Location: {path}~x"), is: .forwarded),
        other("9111 §4.4: both", ok("Location: /y", "Content-Location: {path}~x"), is: .forwarded),
        other(
            "9111 §4.4: Location of another host", answer(201, "Location: http://example.com{path}~x"),
            is: .hit),
        other("9111 §4.4: Location in an error", answer(500, "Location: {path}~x"), is: .hit),
        row(
            "9111 §4.4: Location in the answer to GET", stored, asked: get(at: "x"),
            meanwhile: step(get(), gets: answer(302, "Location: {path}~x")), then: get(at: "x"), is: .hit),
        row(
            "9111 §4.4: every variant", ok(hour, "Vary: Foo"), asked: get("Foo: 1"),
            meanwhile: step(get("Foo: 2"), gets: ok(hour, "Vary: Foo")),
            step(ask("DELETE"), gets: answer(204)),
            then: get("Foo: 1"), is: .forwarded),
        row(
            "9111 §4.4: every part", answer(206, hour, v1, "Content-Range: bytes 2-4/10", body: "234"),
            asked: get("Range: bytes=2-4"), meanwhile: step(ask("PUT", body: "x"), gets: answer(204)),
            then: get("Range: bytes=2-4"), is: .forwarded),
    ]

    private static let posts: [Exchange] = [
        row(
            "9110 §9.3.3: POST goes to the origin", stored, then: ask("POST", body: "x"), is: .forwarded,
            .tells("fwd=method")),
        row(
            "9110 §9.3.3: its answer is not stored", stored, asked: ask("POST", body: "x"), is: .forwarded
        ),
        row(
            "9110 §9.3.3: but with the target as Content-Location", ok(hour, "Content-Location: {path}"),
            asked: ask("POST", body: "x"), is: .hit),
        row(
            "9110 §9.3.3: an absolute Content-Location", ok(hour, "Content-Location: {url}"),
            asked: ask("POST", body: "x"), is: .hit),
        row(
            "9110 §9.3.3: for GET, not for POST", ok(hour, "Content-Location: {path}"),
            asked: ask("POST", body: "x"),
            then: ask("POST", body: "x"), is: .forwarded),
        row(
            "9110 §9.3.3: for HEAD", ok(hour, "Content-Location: {path}"), asked: ask("POST", body: "x"),
            then: head(),
            is: .hit),
        row(
            "9110 §9.3.3: another Content-Location", ok(hour, "Content-Location: {path}~x"),
            asked: ask("POST", body: "x"), is: .forwarded),
        row(
            "9110 §9.3.3: without explicit freshness",
            ok("Last-Modified: \(at(-100_000))", "Content-Location: {path}"),
            asked: ask("POST", body: "x"),
            is: .forwarded),
        row(
            "9110 §9.3.3: no-store",
            ok("Cache-Control: max-age=60, no-store", "Content-Location: {path}"),
            asked: ask("POST", body: "x"), is: .forwarded),
        row(
            "9110 §9.3.4: PUT is not stored", ok(hour, "Content-Location: {path}"),
            asked: ask("PUT", body: "x"),
            is: .forwarded),
        row(
            "9110 §9.3.7: OPTIONS is not stored", stored, asked: ask("OPTIONS"), then: ask("OPTIONS"),
            is: .forwarded,
            .tells("fwd=method")),
        row(
            "9110 §9.3.1: GET with a body", stored, asked: ask("GET", body: "x"),
            then: ask("GET", body: "x"),
            is: .forwarded),
    ]

    static let methods: [Exchange] = changes + reads + successes + errors + locations + posts

    /// A stored answer at `x` that belongs to groups, and whether it is still there after a request that invalidates
    /// some.
    private static func group(
        _ name: String, _ groups: String, _ method: String = "POST", _ status: Int = 200,
        invalidates: String,
        is outcome: Exchange.Outcome
    ) -> Exchange {
        row(
            name, ok(hour, "Cache-Groups: \(groups)"), asked: get(at: "x"),
            meanwhile: step(
                ask(method), gets: answer(status, "Cache-Group-Invalidation: \(invalidates)")),
            then: get(at: "x"), is: outcome)
    }

    static let groups: [Exchange] = [
        group("9875 §3: a group", "\"a\"", invalidates: "\"a\"", is: .forwarded),
        group("9875 §3: one of its groups", "\"a\", \"b\"", invalidates: "\"b\"", is: .forwarded),
        group("9875 §3: several groups", "\"a\"", invalidates: "\"c\", \"a\"", is: .forwarded),
        group("9875 §3: another group", "\"a\"", invalidates: "\"b\"", is: .hit),
        group("9875 §2.1: groups are compared with case", "\"a\"", invalidates: "\"A\"", is: .hit),
        group("9875 §2: a token is no string", "a", invalidates: "\"a\"", is: .hit),
        group("9875 §3: a token invalidates nothing", "\"a\"", invalidates: "a", is: .hit),
        group("9875 §2: parameters are ignored", "\"a\";x=1", invalidates: "\"a\";y", is: .forwarded),
        group("9875 §3: DELETE as well", "\"a\"", "DELETE", invalidates: "\"a\"", is: .forwarded),
        group("9875 §3: 303 as well", "\"a\"", "POST", 303, invalidates: "\"a\"", is: .forwarded),
        group(
            "9875 §3: a safe method invalidates nothing", "\"a\"", "GET", invalidates: "\"a\"", is: .hit),
        group(
            "9875 §3: an error invalidates nothing", "\"a\"", "POST", 500, invalidates: "\"a\"", is: .hit),
        row(
            "9875 §2.2.1: the other groups of its members stay", ok(hour, "Cache-Groups: \"b\""),
            asked: get(at: "x"),
            meanwhile: step(get(at: "y"), gets: ok(hour, "Cache-Groups: \"a\", \"b\"")),
            step(ask("POST"), gets: answer(204, "Cache-Group-Invalidation: \"a\"")), then: get(at: "x"),
            is: .hit),
    ]
}
