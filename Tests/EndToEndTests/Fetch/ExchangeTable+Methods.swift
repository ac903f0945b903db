import Testing

/// Methods (RFC 9110 §9), and their effect on stored answers (RFC 9111 §4.4, RFC 9875).
extension ExchangeTable {
    private static let stored = ok(hour, v1)

    /// Makes a row: an answer to GET is stored, another request for its URL follows, and the last GET shows the effect.
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

    /// Makes a row: an answer of the URL with the suffix `x` is stored, a POST to the row's URL follows, and a GET with
    /// the suffix shows the effect.
    private static func other(_ name: String, _ posted: Exchange.Answer, is outcome: Exchange.Outcome)
        -> Exchange
    {
        row(
            name, stored, asked: get(at: "x"), meanwhile: step(ask("POST"), gets: posted),
            then: get(at: "x"),
            is: outcome)
    }

    private static let locations: [Exchange] = [
        other("9111 §4.4: a POST leaves the answers of other URLs stored", answer(204), is: .hit),
        other(
            "9111 §4.4: Location in a POST answer invalidates its URL", answer(201, "Location: {path}~x"),
            is: .forwarded),
        other("9111 §4.4: an absolute Location invalidates its URL", answer(303, "Location: {url}~x"), is: .forwarded),
        other(
            "9111 §4.4: a Location with a fragment invalidates its URL", answer(303, "Location: {path}~x#top"),
            is: .forwarded),
        other(
            "9111 §4.4: Content-Location in a POST answer invalidates its URL", ok("Content-Location: {path}~x"),
            is: .forwarded),
        other(
            "9111 §4.4: Content-Location beside a Location invalidates its URL",
            ok("Location: /y", "Content-Location: {path}~x"), is: .forwarded),
        other(
            "9111 §4.4: a Location of another host invalidates no URL",
            answer(201, "Location: http://example.com{path}~x"),
            is: .hit),
        other("9111 §4.4: a Location in an error invalidates no URL", answer(500, "Location: {path}~x"), is: .hit),
        row(
            "9111 §4.4: a Location in an answer to GET invalidates no URL", stored, asked: get(at: "x"),
            meanwhile: step(get(), gets: answer(302, "Location: {path}~x")), then: get(at: "x"), is: .hit),
        row(
            "9111 §4.4: a DELETE invalidates every variant", ok(hour, "Vary: Foo"), asked: get("Foo: 1"),
            meanwhile: step(get("Foo: 2"), gets: ok(hour, "Vary: Foo")),
            step(ask("DELETE"), gets: answer(204)),
            then: get("Foo: 1"), is: .forwarded),
        row(
            "9111 §4.4: a PUT invalidates every part",
            answer(206, hour, v1, "Content-Range: bytes 2-4/10", body: "234"),
            asked: get("Range: bytes=2-4"), meanwhile: step(ask("PUT", body: "x"), gets: answer(204)),
            then: get("Range: bytes=2-4"), is: .forwarded),
    ]

    private static let posts: [Exchange] = [
        row(
            "9110 §9.3.3: a POST goes to the origin", stored, then: ask("POST", body: "x"), is: .forwarded,
            .tells("fwd=method")),
        row(
            "9110 §9.3.3: an answer to POST is not stored", stored, asked: ask("POST", body: "x"), is: .forwarded
        ),
        row(
            "9110 §9.3.3: an answer to POST with its target as Content-Location is stored",
            ok(hour, "Content-Location: {path}"),
            asked: ask("POST", body: "x"), is: .hit),
        row(
            "9110 §9.3.3: an answer to POST with its absolute target as Content-Location is stored",
            ok(hour, "Content-Location: {url}"),
            asked: ask("POST", body: "x"), is: .hit),
        row(
            "9110 §9.3.3: a stored answer to POST does not answer another POST", ok(hour, "Content-Location: {path}"),
            asked: ask("POST", body: "x"),
            then: ask("POST", body: "x"), is: .forwarded),
        row(
            "9110 §9.3.3: a stored answer to POST answers HEAD", ok(hour, "Content-Location: {path}"),
            asked: ask("POST", body: "x"),
            then: head(),
            is: .hit),
        row(
            "9110 §9.3.3: an answer to POST with another Content-Location is not stored",
            ok(hour, "Content-Location: {path}~x"),
            asked: ask("POST", body: "x"), is: .forwarded),
        row(
            "9110 §9.3.3: an answer to POST without explicit freshness is not stored",
            ok("Last-Modified: \(at(-100_000))", "Content-Location: {path}"),
            asked: ask("POST", body: "x"),
            is: .forwarded),
        row(
            "9110 §9.3.3: an answer to POST with no-store is not stored",
            ok("Cache-Control: max-age=60, no-store", "Content-Location: {path}"),
            asked: ask("POST", body: "x"), is: .forwarded),
        row(
            "9110 §9.3.4: an answer to PUT is not stored", ok(hour, "Content-Location: {path}"),
            asked: ask("PUT", body: "x"),
            is: .forwarded),
        row(
            "9110 §9.3.7: an answer to OPTIONS is not stored", stored, asked: ask("OPTIONS"), then: ask("OPTIONS"),
            is: .forwarded,
            .tells("fwd=method")),
        row(
            "9110 §9.3.1: an answer to GET with a body is not stored", stored, asked: ask("GET", body: "x"),
            then: ask("GET", body: "x"),
            is: .forwarded),
    ]

    static let methods: [Exchange] = changes + reads + successes + errors + locations + posts

    /// Makes a row: an answer of the URL with the suffix `x` has cache groups, a request to the row's URL invalidates
    /// groups, and a GET with the suffix shows the effect.
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
        group("9875 §3: an invalidated group removes its answers", "\"a\"", invalidates: "\"a\"", is: .forwarded),
        group(
            "9875 §3: an answer of two groups is removed with either group", "\"a\", \"b\"", invalidates: "\"b\"",
            is: .forwarded),
        group("9875 §3: a list invalidates several groups", "\"a\"", invalidates: "\"c\", \"a\"", is: .forwarded),
        group("9875 §3: an invalidation of another group removes no answer", "\"a\"", invalidates: "\"b\"", is: .hit),
        group("9875 §2.1: groups are compared with case", "\"a\"", invalidates: "\"A\"", is: .hit),
        group("9875 §2: a token in Cache-Groups is not a group", "a", invalidates: "\"a\"", is: .hit),
        group("9875 §3: a token in Cache-Group-Invalidation invalidates no group", "\"a\"", invalidates: "a", is: .hit),
        group("9875 §2: parameters of groups are ignored", "\"a\";x=1", invalidates: "\"a\";y", is: .forwarded),
        group(
            "9875 §3: an answer to DELETE invalidates groups", "\"a\"", "DELETE", invalidates: "\"a\"", is: .forwarded),
        group(
            "9875 §3: an answer with 303 invalidates groups", "\"a\"", "POST", 303, invalidates: "\"a\"", is: .forwarded
        ),
        group(
            "9875 §3: an answer to a safe method invalidates no group", "\"a\"", "GET", invalidates: "\"a\"", is: .hit),
        group(
            "9875 §3: an error invalidates no group", "\"a\"", "POST", 500, invalidates: "\"a\"", is: .hit),
        row(
            "9875 §2.2.1: the other groups of a removed answer stay valid", ok(hour, "Cache-Groups: \"b\""),
            asked: get(at: "x"),
            meanwhile: step(get(at: "y"), gets: ok(hour, "Cache-Groups: \"a\", \"b\"")),
            step(ask("POST"), gets: answer(204, "Cache-Group-Invalidation: \"a\"")), then: get(at: "x"),
            is: .hit),
    ]
}
