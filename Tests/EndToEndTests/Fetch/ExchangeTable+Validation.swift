import Testing

/// The validation of stored answers (RFC 9111 §4.3.1, §4.3.3 to §4.3.5).
extension ExchangeTable {
    private static let modified = "Last-Modified: \(at(-86_400))"
    private static let weak = "ETag: W/\"v1\""
    private static let v2 = "ETag: \"v2\""

    static let validation: [Exchange] = [
        row(
            "9111 §4.3.1: an entity tag is sent as If-None-Match", ok(minute, v1), after: 61, now: notModified(),
            is: .revalidated,
            .saw("If-None-Match", "\"v1\""), .sawNo("If-Modified-Since")),
        row(
            "9111 §4.3.1: a date is sent as If-Modified-Since", ok(minute, modified), after: 61, now: notModified(),
            is: .revalidated,
            .saw("If-Modified-Since", at(-86_400)), .sawNo("If-None-Match")),
        row(
            "9111 §4.3.1: a tag and a date are both sent", ok(minute, v1, modified), after: 61, now: notModified(),
            is: .revalidated,
            .saw("If-None-Match", "\"v1\""), .saw("If-Modified-Since", at(-86_400))),
        row(
            "9111 §4.3.1: a weak tag is sent as If-None-Match", ok(minute, "ETag: W/\"v1\""), after: 61,
            now: notModified("ETag: W/\"v1\""),
            is: .revalidated, .saw("If-None-Match", "W/\"v1\"")),
        row(
            "9110 §8.8.3: an invalid entity tag is not sent", ok(minute, "ETag: v1"), after: 61,
            is: .forwarded),
        row(
            "9111 §4.3.1: a stale answer without a validator is fetched again", ok(minute), after: 61, is: .forwarded,
            .tells("fwd=stale")
        ),
        row(
            "9111 §4.3.1: Larder's validator replaces the client's own condition", ok(minute, v1), after: 61,
            then: get("If-None-Match: \"v0\""), now: notModified(), is: .revalidated,
            .saw("If-None-Match", "\"v1\"")),
        row(
            "9111 §4.3.3: a full answer replaces the stored answer", ok(minute, v1), after: 61, now: ok(minute, v2),
            is: .replaced),
        row(
            "9111 §4.3.3: the replacing answer serves the next request", ok(minute, v1),
            meanwhile: step(after: 61, get(), gets: ok(minute, v2)), is: .hit, .body("body 2")),
        row(
            "9111 §4.3.3: a 404 replaces the stored answer", ok(minute, v1),
            after: 61, now: answer(404), is: .replaced),
        row(
            "9111 §4.3.3: a 500 is passed on", ok(minute, v1), after: 61, now: answer(500), is: .replaced),
        row(
            "9111 §4.3.3: a 500 does not remove the stored answer", ok(minute, v1),
            meanwhile: step(after: 61, get(), gets: answer(500)),
            now: notModified(), is: .revalidated),
        row(
            "9111 §4.3.4: a 304 makes the stored answer fresh", ok(minute, v1),
            meanwhile: step(after: 61, get(), gets: notModified(v1)),
            after: 59, is: .hit, .age(59)),
        row(
            "9111 §4.3.4: a 304 makes the stored answer fresh for its lifetime only", ok(minute, v1),
            meanwhile: step(after: 61, get(), gets: notModified(v1)),
            after: 60, now: notModified(), is: .revalidated),
        row(
            "9111 §3.2: the lifetime of a 304 replaces the stored lifetime", ok(minute, v1),
            meanwhile: step(after: 61, get(), gets: notModified(hour, v1)), after: 3599, is: .hit),
        row(
            "9111 §3.2: fields of a 304 replace stored fields", ok(minute, v1, "X: 1", "X: 2"), after: 61,
            now: notModified(v1, "X: 3"),
            is: .revalidated, .field("X", ["3"])),
        row(
            "9111 §3.2: stored fields stay if the 304 lacks them", ok(minute, v1, "X: 1", "Content-Type: text/plain"),
            after: 61,
            now: notModified(v1), is: .revalidated, .field("X", ["1"]),
            .field("Content-Type", ["text/plain"])),
        row(
            "9111 §3.2: new fields of a 304 are added", ok(minute, v1), after: 61,
            now: notModified(v1, "Set-Cookie: a=1"),
            is: .revalidated, .field("Set-Cookie", ["a=1"])),
        row(
            "9111 §7.3: a cookie of a 304 does not replace the stored cookie", ok(minute, v1, "Set-Cookie: a=1"),
            meanwhile: step(after: 61, get(), gets: notModified(v1, "Set-Cookie: a=2")),
            is: .hit, .field("Set-Cookie", ["a=1"])),
        row(
            "9111 §7.3: a cookie of a 304 is not stored", ok(minute, v1),
            meanwhile: step(after: 61, get(), gets: notModified(v1, "Set-Cookie: a=2")),
            is: .hit, .lacks("Set-Cookie")),
        row(
            "9111 §7.3: a cookie of a HEAD is not stored", ok(minute, v1),
            meanwhile: step(after: 61, head(), gets: ok(minute, v1, "Set-Cookie: a=2")),
            is: .hit, .lacks("Set-Cookie")),
        row(
            "9530 §2: Content-Digest of a 304 does not replace the stored Content-Digest",
            ok(minute, v1, "Content-Digest: a=:AA==:"),
            meanwhile: step(after: 61, get(), gets: notModified(v1, "Content-Digest: a=:BB==:")),
            is: .hit, .field("Content-Digest", ["a=:AA==:"])),
        row(
            "9111 §3.2: fields of a 304 are stored", ok(minute, v1),
            meanwhile: step(after: 61, get(), gets: notModified(v1, "X: 3")),
            is: .hit, .field("X", ["3"])),
        row(
            "9111 §3.2: Content-Length of a 304 does not replace the stored length", ok(minute, v1), after: 61,
            now: notModified(v1, "Content-Length: 99"),
            is: .revalidated, .field("Content-Length", ["6"])),
        row(
            "9111 §3.2: Content-Encoding of a 304 is ignored", ok(minute, v1), after: 61,
            now: notModified(v1, "Content-Encoding: br"),
            is: .revalidated, .lacks("Content-Encoding")),
        row(
            "9111 §3.2: Content-Range of a 304 is ignored", ok(minute, v1), after: 61,
            now: notModified(v1, "Content-Range: bytes 0-1/2"), is: .revalidated, .lacks("Content-Range")),
        row(
            "9111 §3.1: hop-by-hop fields of a 304 are ignored", ok(minute, v1, "X: 1"), after: 61,
            now: notModified(v1, "Connection: X", "X: 2"),
            is: .revalidated, .field("X", ["1"])),
        row(
            "9111 §4.3.4: a 304 without a validator confirms the validated answer", ok(minute, v1),
            meanwhile: step(after: 61, get(), gets: notModified()), after: 59, is: .hit),
        row(
            "9111 §4.3.4: a 304 with the same date confirms the stored answer", ok(minute, modified),
            meanwhile: step(after: 61, get(), gets: notModified(modified)), after: 59, is: .hit),
        row(
            "9111 §4.3.4: a 304 with a strong tag and the same strong date confirms a stored weak tag",
            ok(minute, weak, modified),
            meanwhile: step(after: 61, get(), gets: notModified(v1, modified)), after: 59, is: .hit,
            .field("ETag", ["W/\"v1\""])),
        row(
            "9111 §4.3.4: the stored weak tag is sent again after a 304 with a strong tag", ok(minute, weak, modified),
            meanwhile: step(after: 61, get(), gets: notModified(v1, modified)), after: 61,
            now: notModified(v1, modified), is: .revalidated, .saw("If-None-Match", "W/\"v1\"")),
        row(
            "9111 §4.3.4: a 304 with another strong tag and the same strong date confirms the stored answer",
            ok(minute, "ETag: \"v1-gzip\"", modified),
            meanwhile: step(after: 61, get(), gets: notModified(v1, modified)), after: 59, is: .hit,
            .field("ETag", ["\"v1-gzip\""])),

        row(
            "9111 §4: a stored answer to GET answers HEAD", ok(hour, v1), then: head(), is: .hit,
            .field("Content-Length", ["6"])),
        row("9110 §9.3.2: an answer to HEAD does not answer GET", ok(hour, v1), asked: head(), is: .forwarded),
        row(
            "9111 §4.3.5: a HEAD for a stale answer is forwarded", ok(minute), after: 61, then: head(), is: .forwarded),
        row(
            "9111 §4.3.5: a HEAD with the same validators freshens the stored answer", ok(minute, v1, modified),
            meanwhile: step(after: 61, head(), gets: ok(minute, v1, modified)), after: 59, is: .hit),
        row(
            "9111 §4.3.5: a HEAD updates the stored fields", ok(minute, v1, "X: 1"),
            meanwhile: step(after: 61, head(), gets: ok(minute, v1, "X: 2")), is: .hit, .field("X", ["2"])
        ),
        row(
            "9111 §4.3.5: a HEAD with another tag invalidates the stored answer", ok(hour, v1),
            meanwhile: step(get("Cache-Control: max-age=0"), gets: notModified(v1)),
            step(after: 3601, head(), gets: ok(hour, v2)), now: notModified(), is: .revalidated),
        row(
            "9111 §4.3.5: a HEAD with another date invalidates the stored answer", ok(minute, modified),
            meanwhile: step(after: 61, head(), gets: ok(minute, "Last-Modified: \(at(-3600))")),
            is: .replaced),
        row(
            "9111 §4.3.5: a HEAD with another length invalidates the stored answer", ok(minute, v1),
            meanwhile: step(after: 61, head(), gets: ok(minute, v1, body: "longer body")), is: .replaced),
        row(
            "9111 §4.3.5: a failed HEAD does not change the stored answer", ok(minute, v1),
            meanwhile: step(after: 61, head(), gets: answer(500, v2)), now: notModified(),
            is: .revalidated),
    ]
}
