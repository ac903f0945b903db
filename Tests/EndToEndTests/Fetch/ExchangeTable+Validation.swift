import Testing

/// Asking the origin whether what is stored is still right (RFC 9111 §4.3.1, §4.3.3 to §4.3.5).
extension ExchangeTable {
    private static let modified = "Last-Modified: \(at(-86_400))"
    private static let weak = "ETag: W/\"v1\""
    private static let v2 = "ETag: \"v2\""

    static let validation: [Exchange] = [
        row(
            "9111 §4.3.1: by the entity tag", ok(minute, v1), after: 61, now: notModified(),
            is: .revalidated,
            .saw("If-None-Match", "\"v1\""), .sawNo("If-Modified-Since")),
        row(
            "9111 §4.3.1: by the date", ok(minute, modified), after: 61, now: notModified(),
            is: .revalidated,
            .saw("If-Modified-Since", at(-86_400)), .sawNo("If-None-Match")),
        row(
            "9111 §4.3.1: by both", ok(minute, v1, modified), after: 61, now: notModified(),
            is: .revalidated,
            .saw("If-None-Match", "\"v1\""), .saw("If-Modified-Since", at(-86_400))),
        row(
            "9111 §4.3.1: by a weak tag", ok(minute, "ETag: W/\"v1\""), after: 61,
            now: notModified("ETag: W/\"v1\""),
            is: .revalidated, .saw("If-None-Match", "W/\"v1\"")),
        row(
            "9110 §8.8.3: what is no entity tag asks nothing", ok(minute, "ETag: v1"), after: 61,
            is: .forwarded),
        row(
            "9111 §4.3.1: without a validator", ok(minute), after: 61, is: .forwarded, .tells("fwd=stale")
        ),
        row(
            "9111 §4.3.1: the client's own condition is not sent on", ok(minute, v1), after: 61,
            then: get("If-None-Match: \"v0\""), now: notModified(), is: .revalidated,
            .saw("If-None-Match", "\"v1\"")),
        row(
            "9111 §4.3.3: a full answer replaces", ok(minute, v1), after: 61, now: ok(minute, v2),
            is: .replaced),
        row(
            "9111 §4.3.3: what replaced it serves the next", ok(minute, v1),
            meanwhile: step(after: 61, get(), gets: ok(minute, v2)), is: .hit, .body("body 2")),
        row("9111 §4.3.3: 404 replaces", ok(minute, v1), after: 61, now: answer(404), is: .replaced),
        row(
            "9111 §4.3.3: 500 is passed on", ok(minute, v1), after: 61, now: answer(500), is: .replaced),
        row(
            "9111 §4.3.3: 500 removes nothing", ok(minute, v1),
            meanwhile: step(after: 61, get(), gets: answer(500)),
            now: notModified(), is: .revalidated),
        row(
            "9111 §4.3.4: a 304 makes fresh", ok(minute, v1),
            meanwhile: step(after: 61, get(), gets: notModified(v1)),
            after: 59, is: .hit, .age(59)),
        row(
            "9111 §4.3.4: and not for longer", ok(minute, v1),
            meanwhile: step(after: 61, get(), gets: notModified(v1)),
            after: 60, now: notModified(), is: .revalidated),
        row(
            "9111 §3.2: the lifetime is the new one", ok(minute, v1),
            meanwhile: step(after: 61, get(), gets: notModified(hour, v1)), after: 3599, is: .hit),
        row(
            "9111 §3.2: fields are replaced", ok(minute, v1, "X: 1", "X: 2"), after: 61,
            now: notModified(v1, "X: 3"),
            is: .revalidated, .field("X", ["3"])),
        row(
            "9111 §3.2: others stay", ok(minute, v1, "X: 1", "Content-Type: text/plain"), after: 61,
            now: notModified(v1), is: .revalidated, .field("X", ["1"]),
            .field("Content-Type", ["text/plain"])),
        row(
            "9111 §3.2: new ones are added", ok(minute, v1), after: 61,
            now: notModified(v1, "Set-Cookie: a=1"),
            is: .revalidated, .field("Set-Cookie", ["a=1"])),
        row(
            "9111 §7.3: a cookie of a 304 is for its client alone", ok(minute, v1, "Set-Cookie: a=1"),
            meanwhile: step(after: 61, get(), gets: notModified(v1, "Set-Cookie: a=2")),
            is: .hit, .field("Set-Cookie", ["a=1"])),
        row(
            "9111 §7.3: and adds none to what is stored", ok(minute, v1),
            meanwhile: step(after: 61, get(), gets: notModified(v1, "Set-Cookie: a=2")),
            is: .hit, .lacks("Set-Cookie")),
        row(
            "9111 §7.3: nor does a cookie of a HEAD", ok(minute, v1),
            meanwhile: step(after: 61, head(), gets: ok(minute, v1, "Set-Cookie: a=2")),
            is: .hit, .lacks("Set-Cookie")),
        row(
            "9530 §2: never Content-Digest, which is the 304's own", ok(minute, v1, "Content-Digest: a=:AA==:"),
            meanwhile: step(after: 61, get(), gets: notModified(v1, "Content-Digest: a=:BB==:")),
            is: .hit, .field("Content-Digest", ["a=:AA==:"])),
        row(
            "9111 §3.2: and stored", ok(minute, v1),
            meanwhile: step(after: 61, get(), gets: notModified(v1, "X: 3")),
            is: .hit, .field("X", ["3"])),
        row(
            "9111 §3.2: never Content-Length", ok(minute, v1), after: 61,
            now: notModified(v1, "Content-Length: 99"),
            is: .revalidated, .field("Content-Length", ["6"])),
        row(
            "9111 §3.2: never Content-Encoding", ok(minute, v1), after: 61,
            now: notModified(v1, "Content-Encoding: br"),
            is: .revalidated, .lacks("Content-Encoding")),
        row(
            "9111 §3.2: never Content-Range", ok(minute, v1), after: 61,
            now: notModified(v1, "Content-Range: bytes 0-1/2"), is: .revalidated, .lacks("Content-Range")),
        row(
            "9111 §3.1: nothing hop-by-hop", ok(minute, v1, "X: 1"), after: 61,
            now: notModified(v1, "Connection: X", "X: 2"),
            is: .revalidated, .field("X", ["1"])),
        row(
            "9111 §4.3.4: a 304 without a validator is about what was asked about", ok(minute, v1),
            meanwhile: step(after: 61, get(), gets: notModified()), after: 59, is: .hit),
        row(
            "9111 §4.3.4: a 304 with the same date", ok(minute, modified),
            meanwhile: step(after: 61, get(), gets: notModified(modified)), after: 59, is: .hit),
        row(
            "9111 §4.3.4: a strong tag for a weak one, and the same strong date", ok(minute, weak, modified),
            meanwhile: step(after: 61, get(), gets: notModified(v1, modified)), after: 59, is: .hit,
            .field("ETag", ["W/\"v1\""])),
        row(
            "9111 §4.3.4: the next question has the weak tag again", ok(minute, weak, modified),
            meanwhile: step(after: 61, get(), gets: notModified(v1, modified)), after: 61,
            now: notModified(v1, modified), is: .revalidated, .saw("If-None-Match", "W/\"v1\"")),
        row(
            "9111 §4.3.4: another strong tag, and the same strong date", ok(minute, "ETag: \"v1-gzip\"", modified),
            meanwhile: step(after: 61, get(), gets: notModified(v1, modified)), after: 59, is: .hit,
            .field("ETag", ["\"v1-gzip\""])),

        row(
            "9111 §4: HEAD from a stored GET", ok(hour, v1), then: head(), is: .hit,
            .field("Content-Length", ["6"])),
        row("9110 §9.3.2: HEAD is not stored for GET", ok(hour, v1), asked: head(), is: .forwarded),
        row(
            "9111 §4.3.5: a HEAD for what is stale", ok(minute), after: 61, then: head(), is: .forwarded),
        row(
            "9111 §4.3.5: HEAD with the same validators freshens", ok(minute, v1, modified),
            meanwhile: step(after: 61, head(), gets: ok(minute, v1, modified)), after: 59, is: .hit),
        row(
            "9111 §4.3.5: and brings its fields", ok(minute, v1, "X: 1"),
            meanwhile: step(after: 61, head(), gets: ok(minute, v1, "X: 2")), is: .hit, .field("X", ["2"])
        ),
        row(
            "9111 §4.3.5: HEAD with another tag invalidates", ok(hour, v1),
            meanwhile: step(get("Cache-Control: max-age=0"), gets: notModified(v1)),
            step(after: 3601, head(), gets: ok(hour, v2)), now: notModified(), is: .revalidated),
        row(
            "9111 §4.3.5: HEAD with another date invalidates", ok(minute, modified),
            meanwhile: step(after: 61, head(), gets: ok(minute, "Last-Modified: \(at(-3600))")),
            is: .replaced),
        row(
            "9111 §4.3.5: HEAD with another length invalidates", ok(minute, v1),
            meanwhile: step(after: 61, head(), gets: ok(minute, v1, body: "longer body")), is: .replaced),
        row(
            "9111 §4.3.5: a HEAD that fails says nothing", ok(minute, v1),
            meanwhile: step(after: 61, head(), gets: answer(500, v2)), now: notModified(),
            is: .revalidated),
    ]
}
