import Testing

/// Ranges (RFC 9110 §14, §13.1.5), and answers that are parts (RFC 9111 §3.3, §3.4).
extension ExchangeTable {
    private static let digits = "0123456789"
    private static let whole = ok(hour, v1, "Content-Type: text/plain", body: digits)
    private static func range(_ set: String) -> String { "Range: " + set }

    /// Bytes `first` to `last` of ``digits``.
    private static func part(_ first: Int, _ last: Int, _ lines: String...) -> Exchange.Answer {
        Exchange.Answer(
            status: 206, lines: ["Content-Range: bytes \(first)-\(last)/10"] + lines,
            body: String(digits.dropFirst(first).prefix(last - first + 1)))
    }

    static let ranges: [Exchange] = [
        row(
            "9110 §14.4: Content-Range on a 200 passes", ok(hour, "Content-Range: bytes 0-5/6"), is: .hit,
            .field("Content-Range", ["bytes 0-5/6"])),
        row(
            "9110 §14.4: also before it is stored", ok("Cache-Control: no-store", "Content-Range: bytes 0-5/6"),
            is: .forwarded, .field("Content-Range", ["bytes 0-5/6"])),
        row(
            "9110 §14.1.2: first to last", whole, then: get(range("bytes=2-4")), is: .partial("234"),
            .field("Content-Range", ["bytes 2-4/10"]), .field("Content-Length", ["3"]),
            .field("ETag", ["\"v1\""])),
        row("9110 §14.1.2: to the end", whole, then: get(range("bytes=7-")), is: .partial("789")),
        row("9110 §14.1.2: the last bytes", whole, then: get(range("bytes=-3")), is: .partial("789")),
        row("9110 §14.1.2: one byte", whole, then: get(range("bytes=0-0")), is: .partial("0")),
        row(
            "9110 §14.1.2: a last beyond the end", whole, then: get(range("bytes=8-99")),
            is: .partial("89")),
        row(
            "9110 §14.1.2: more of the last bytes than there are", whole, then: get(range("bytes=-99")),
            is: .partial(digits)),
        row(
            "9110 §14.1.2: a number beyond any integer", whole,
            then: get(range("bytes=8-99999999999999999999")),
            is: .partial("89")),
        row(
            "9110 §14.1: units are compared without case", whole, then: get(range("BYTES=2-4")),
            is: .partial("234")),
        row(
            "9110 §15.5.17: behind the end", whole, then: get(range("bytes=10-")), is: .unsatisfiable,
            .field("Content-Range", ["bytes */10"])),
        row("9110 §15.5.17: the last none", whole, then: get(range("bytes=-0")), is: .unsatisfiable),
        row("9110 §14.1.1: last before first", whole, then: get(range("bytes=4-2")), is: .hit),
        row("9110 §14.2: words", whole, then: get(range("bytes=a-b")), is: .hit),
        row("9110 §14.2: another unit", whole, then: get(range("lines=2-4")), is: .hit),
        row("9110 §14.2: nothing", whole, then: get(range("bytes=")), is: .hit),
        row(
            "9110 §14.2: two lines", whole, then: get(range("bytes=0-1"), range("bytes=3-4")), is: .hit),
        row(
            "9110 §14.2: HEAD has no ranges", whole, then: head(range("bytes=2-4")), is: .hit,
            .field("Content-Length", ["10"])),
        row(
            "9110 §14.6: several", whole, then: get(range("bytes=0-1, 4-5")), is: .hit, .status(206),
            .has("Content-Range: bytes 0-1/10\r\n\r\n01\r\n"),
            .has("Content-Range: bytes 4-5/10\r\n\r\n45\r\n"),
            .lacks("Content-Range")),
        row(
            "9110 §15.3.7.2: the order in which they were asked for", whole,
            then: get(range("bytes=8-8,-1,0-0")),
            is: .hit, .status(206), .has("0-0/10")),
        row(
            "9110 §15.3.7.2: those that overlap are one", whole, then: get(range("bytes=0-3,2-5")),
            is: .partial("012345")),
        row(
            "9110 §14.2: one of two can be satisfied", whole, then: get(range("bytes=2-4,20-30")),
            is: .partial("234")),
        row(
            "9110 §14.2: no ranges of a 404", answer(404, hour, v1, body: digits),
            then: get(range("bytes=2-4")),
            is: .hit),
        row(
            "9110 §13.1.5: If-Range, the tag", whole, then: get(range("bytes=2-4"), "If-Range: \"v1\""),
            is: .partial("234")),
        row(
            "9110 §13.1.5: If-Range, another tag", whole,
            then: get(range("bytes=2-4"), "If-Range: \"v2\""), is: .hit),
        row(
            "9110 §13.1.5: If-Range, a weak tag", ok(hour, "ETag: W/\"v1\"", body: digits),
            then: get(range("bytes=2-4"), "If-Range: W/\"v1\""), is: .hit),
        row(
            "9110 §13.1.5: If-Range, the date", ok(hour, "Date: \(at(0))", "Last-Modified: \(at(-60))", body: digits),
            then: get(range("bytes=2-4"), "If-Range: \(at(-60))"), is: .partial("234")),
        row(
            "9110 §13.1.5: If-Range, a later date",
            ok(hour, "Date: \(at(0))", "Last-Modified: \(at(-60))", body: digits),
            then: get(range("bytes=2-4"), "If-Range: \(at(-59))"), is: .hit),
        row(
            "9110 §8.8.2.2: If-Range, a date that is weak",
            ok(hour, "Date: \(at(0))", "Last-Modified: \(at(0))", body: digits),
            then: get(range("bytes=2-4"), "If-Range: \(at(0))"), is: .hit),
        row("9110 §13.1.5: If-Range without Range", whole, then: get("If-Range: \"v2\""), is: .hit),
        row(
            "9110 §13.2.2: If-None-Match before Range", whole,
            then: get(range("bytes=2-4"), "If-None-Match: \"v1\""),
            is: .notModified),
        row(
            "9110 §13.2.2: If-Match before Range", whole,
            then: get(range("bytes=2-4"), "If-Match: \"v2\""),
            is: .preconditionFailed),
        row(
            "9111 §4.3.3: a range of what was confirmed", ok(minute, v1, body: digits), after: 61,
            then: get(range("bytes=2-4")), now: notModified(v1), is: .revalidated, .status(206),
            .body("234"),
            .sawNo("Range")),
        row(
            "9111 §4.3.3: a range of what replaced it", ok(minute, v1, body: digits), after: 61,
            then: get(range("bytes=2-4")), now: ok(minute, "ETag: \"v2\"", body: "abcdefghij"),
            is: .replaced,
            .status(206), .body("cde"), .sawNo("Range")),
        row(
            "9110 §14.2: a miss from the beginning asks for all", whole,
            then: get(range("bytes=0-"), at: "x"),
            is: .forwarded, .status(206), .body(digits), .sawNo("Range")),
        row(
            "9110 §14.2: the origin may ignore a range", whole, asked: get(range("bytes=2-4")), is: .hit),

        row(
            "9111 §3.3: a part serves what lies within it", part(2, 7, hour, v1),
            asked: get(range("bytes=2-7")),
            then: get(range("bytes=3-4")), is: .partial("34"), .field("Content-Range", ["bytes 3-4/10"])),
        row(
            "9111 §3.3: exactly it", part(2, 7, hour, v1), asked: get(range("bytes=2-7")),
            then: get(range("bytes=2-7")), is: .partial("234567")),
        row(
            "9111 §3.3: not what begins before it", part(2, 7, hour, v1), asked: get(range("bytes=2-7")),
            then: get(range("bytes=1-4")), now: part(1, 4, hour, v1), is: .forwarded,
            .tells("fwd=partial")),
        row(
            "9111 §3.3: not what ends behind it", part(2, 7, hour, v1), asked: get(range("bytes=2-7")),
            then: get(range("bytes=3-8")), now: part(3, 8, hour, v1), is: .forwarded),
        row(
            "9111 §3.3: not the whole", part(2, 7, hour, v1), asked: get(range("bytes=2-7")), now: whole,
            is: .forwarded),
        row(
            "9111 §3.3: that nothing is behind the end is known", part(2, 7, hour, v1),
            asked: get(range("bytes=2-7")),
            then: get(range("bytes=10-")), is: .unsatisfiable),
        row(
            "9111 §3.4: two parts", part(0, 4, hour, v1), asked: get(range("bytes=0-4")),
            meanwhile: step(get(range("bytes=5-7")), gets: part(5, 7, hour, v1)),
            then: get(range("bytes=3-6")),
            is: .partial("3456")),
        row(
            "9111 §3.4: two parts that make the whole", part(0, 4, hour, v1),
            asked: get(range("bytes=0-4")),
            meanwhile: step(get(range("bytes=5-9")), gets: part(5, 9, hour, v1)), is: .hit, .status(200),
            .body(digits),
            .lacks("Content-Range"), .field("Content-Length", ["10"])),
        row(
            "9111 §3.4: two parts with a gap", part(0, 3, hour, v1), asked: get(range("bytes=0-3")),
            meanwhile: step(get(range("bytes=5-9")), gets: part(5, 9, hour, v1)),
            then: get(range("bytes=3-6")),
            now: part(3, 6, hour, v1), is: .forwarded),
        row(
            "9111 §3.4: parts of two versions", part(0, 4, hour, v1), asked: get(range("bytes=0-4")),
            meanwhile: step(get(range("bytes=5-9")), gets: part(5, 9, hour, "ETag: \"v2\"")),
            then: get(range("bytes=3-6")), now: part(3, 6, hour, "ETag: \"v2\""), is: .forwarded),
        row(
            "9111 §3.4: all of it in one part", part(0, 9, hour, v1), asked: get(range("bytes=0-9")),
            is: .hit,
            .status(200), .body(digits)),
        row(
            "9111 §3.4: a weak tag", part(2, 7, hour, "ETag: W/\"v1\""), asked: get(range("bytes=2-7")),
            then: get(range("bytes=2-7")), is: .forwarded,
            .tells("detail=partial-without-strong-validator")),
        row(
            "9111 §3.4: no validator", part(2, 7, hour), asked: get(range("bytes=2-7")),
            then: get(range("bytes=2-7")), is: .forwarded),
        row(
            "9110 §8.8.2.2: a strong date", part(2, 7, hour, "Date: \(at(0))", "Last-Modified: \(at(-60))"),
            asked: get(range("bytes=2-7")), then: get(range("bytes=3-4")), is: .partial("34")),
        row(
            "9110 §15.3.7: a 206 without Content-Range", answer(206, hour, v1, body: "234"),
            asked: get(range("bytes=2-4")), then: get(range("bytes=2-4")), is: .forwarded),
        row(
            "9110 §15.3.7.2: a 206 of several parts",
            answer(206, hour, v1, "Content-Type: multipart/byteranges; boundary=x", body: "--x--"),
            asked: get(range("bytes=2-3,5-6")), then: get(range("bytes=2-3,5-6")), is: .forwarded),
        row(
            "9111 §4.2: a part that is stale", part(2, 7, minute, v1), asked: get(range("bytes=2-7")),
            after: 61,
            then: get(range("bytes=2-7")), is: .replaced),
    ]
}
