import Testing

/// Ranges (RFC 9110 §14, §13.1.5), and partial answers (RFC 9111 §3.3, §3.4).
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
            "9110 §14.4: Content-Range on a stored 200 is passed on", ok(hour, "Content-Range: bytes 0-5/6"), is: .hit,
            .field("Content-Range", ["bytes 0-5/6"])),
        row(
            "9110 §14.4: Content-Range on a 200 that is not stored is passed on",
            ok("Cache-Control: no-store", "Content-Range: bytes 0-5/6"),
            is: .forwarded, .field("Content-Range", ["bytes 0-5/6"])),
        row(
            "9110 §14.1.2: a range from first to last byte gets 206", whole, then: get(range("bytes=2-4")),
            is: .partial("234"),
            .field("Content-Range", ["bytes 2-4/10"]), .field("Content-Length", ["3"]),
            .field("ETag", ["\"v1\""])),
        row(
            "9110 §14.1.2: a range without a last byte reaches to the end", whole, then: get(range("bytes=7-")),
            is: .partial("789")),
        row(
            "9110 §14.1.2: a suffix range gets the last bytes", whole, then: get(range("bytes=-3")), is: .partial("789")
        ),
        row(
            "9110 §14.1.2: a range of one byte gets that byte", whole, then: get(range("bytes=0-0")),
            is: .partial("0")),
        row(
            "9110 §14.1.2: a last byte beyond the end means the end", whole, then: get(range("bytes=8-99")),
            is: .partial("89")),
        row(
            "9110 §14.1.2: a suffix longer than the body gets the whole body", whole, then: get(range("bytes=-99")),
            is: .partial(digits)),
        row(
            "9110 §14.1.2: a last byte beyond any integer means the end", whole,
            then: get(range("bytes=8-99999999999999999999")),
            is: .partial("89")),
        row(
            "9110 §14.1: units are compared without case", whole, then: get(range("BYTES=2-4")),
            is: .partial("234")),
        row(
            "9110 §15.5.17: a range behind the end gets 416 with the length", whole, then: get(range("bytes=10-")),
            is: .unsatisfiable,
            .field("Content-Range", ["bytes */10"])),
        row("9110 §15.5.17: a suffix of 0 bytes gets 416", whole, then: get(range("bytes=-0")), is: .unsatisfiable),
        row(
            "9110 §14.1.1: a range with the last before the first byte is ignored", whole,
            then: get(range("bytes=4-2")), is: .hit),
        row("9110 §14.2: a range of words is ignored", whole, then: get(range("bytes=a-b")), is: .hit),
        row("9110 §14.2: a range in another unit is ignored", whole, then: get(range("lines=2-4")), is: .hit),
        row("9110 §14.2: an empty range set is ignored", whole, then: get(range("bytes=")), is: .hit),
        row(
            "9110 §14.2: two Range lines are ignored", whole, then: get(range("bytes=0-1"), range("bytes=3-4")),
            is: .hit),
        row(
            "9110 §14.2: Range in HEAD is ignored", whole, then: head(range("bytes=2-4")), is: .hit,
            .field("Content-Length", ["10"])),
        row(
            "9110 §14.6: several ranges get a multipart 206", whole, then: get(range("bytes=0-1, 4-5")), is: .hit,
            .status(206),
            .has("Content-Range: bytes 0-1/10\r\n\r\n01\r\n"),
            .has("Content-Range: bytes 4-5/10\r\n\r\n45\r\n"),
            .lacks("Content-Range")),
        row(
            "9110 §15.3.7.2: a multipart 206 answers ranges in any order", whole,
            then: get(range("bytes=8-8,-1,0-0")),
            is: .hit, .status(206), .has("0-0/10")),
        row(
            "9110 §15.3.7.2: overlapping ranges are merged", whole, then: get(range("bytes=0-3,2-5")),
            is: .partial("012345")),
        row(
            "9110 §14.2: an unsatisfiable range beside a satisfiable range is dropped", whole,
            then: get(range("bytes=2-4,20-30")),
            is: .partial("234")),
        row(
            "9110 §14.2: Range is ignored for a stored 404", answer(404, hour, v1, body: digits),
            then: get(range("bytes=2-4")),
            is: .hit),
        row(
            "9110 §13.1.5: If-Range with the stored tag gets the range", whole,
            then: get(range("bytes=2-4"), "If-Range: \"v1\""),
            is: .partial("234")),
        row(
            "9110 §13.1.5: If-Range with another tag gets the whole", whole,
            then: get(range("bytes=2-4"), "If-Range: \"v2\""), is: .hit),
        row(
            "9110 §13.1.5: If-Range with a weak tag gets the whole", ok(hour, "ETag: W/\"v1\"", body: digits),
            then: get(range("bytes=2-4"), "If-Range: W/\"v1\""), is: .hit),
        row(
            "9110 §13.1.5: If-Range with the date of Last-Modified gets the range",
            ok(hour, "Date: \(at(0))", "Last-Modified: \(at(-60))", body: digits),
            then: get(range("bytes=2-4"), "If-Range: \(at(-60))"), is: .partial("234")),
        row(
            "9110 §13.1.5: If-Range with a later date gets the whole",
            ok(hour, "Date: \(at(0))", "Last-Modified: \(at(-60))", body: digits),
            then: get(range("bytes=2-4"), "If-Range: \(at(-59))"), is: .hit),
        row(
            "9110 §8.8.2.2: If-Range with a weak date gets the whole",
            ok(hour, "Date: \(at(0))", "Last-Modified: \(at(0))", body: digits),
            then: get(range("bytes=2-4"), "If-Range: \(at(0))"), is: .hit),
        row("9110 §13.1.5: If-Range without Range is ignored", whole, then: get("If-Range: \"v2\""), is: .hit),
        row(
            "9110 §13.2.2: If-None-Match is evaluated before Range", whole,
            then: get(range("bytes=2-4"), "If-None-Match: \"v1\""),
            is: .notModified),
        row(
            "9110 §13.2.2: If-Match is evaluated before Range", whole,
            then: get(range("bytes=2-4"), "If-Match: \"v2\""),
            is: .preconditionFailed),
        row(
            "9111 §4.3.3: a range of a revalidated answer gets 206", ok(minute, v1, body: digits), after: 61,
            then: get(range("bytes=2-4")), now: notModified(v1), is: .revalidated, .status(206),
            .body("234"),
            .sawNo("Range")),
        row(
            "9111 §4.3.3: a range of a replacing answer gets 206", ok(minute, v1, body: digits), after: 61,
            then: get(range("bytes=2-4")), now: ok(minute, "ETag: \"v2\"", body: "abcdefghij"),
            is: .replaced,
            .status(206), .body("cde"), .sawNo("Range")),
        row(
            "9110 §14.2: a miss for a range from the first byte fetches the whole", whole,
            then: get(range("bytes=0-"), at: "x"),
            is: .forwarded, .status(206), .body(digits), .sawNo("Range")),
        row(
            "9110 §14.2: an origin's 200 for a range request is stored as the whole", whole,
            asked: get(range("bytes=2-4")), is: .hit),

        row(
            "9111 §3.3: a stored part answers a range within it", part(2, 7, hour, v1),
            asked: get(range("bytes=2-7")),
            then: get(range("bytes=3-4")), is: .partial("34"), .field("Content-Range", ["bytes 3-4/10"])),
        row(
            "9111 §3.3: a stored part answers exactly its own range", part(2, 7, hour, v1),
            asked: get(range("bytes=2-7")),
            then: get(range("bytes=2-7")), is: .partial("234567")),
        row(
            "9111 §3.3: a range that begins before the stored part is forwarded", part(2, 7, hour, v1),
            asked: get(range("bytes=2-7")),
            then: get(range("bytes=1-4")), now: part(1, 4, hour, v1), is: .forwarded,
            .tells("fwd=partial")),
        row(
            "9111 §3.3: a range that ends behind the stored part is forwarded", part(2, 7, hour, v1),
            asked: get(range("bytes=2-7")),
            then: get(range("bytes=3-8")), now: part(3, 8, hour, v1), is: .forwarded),
        row(
            "9111 §3.3: a stored part does not answer a request for the whole", part(2, 7, hour, v1),
            asked: get(range("bytes=2-7")), now: whole,
            is: .forwarded),
        row(
            "9111 §3.3: a stored part answers a range behind the end of the whole with 416", part(2, 7, hour, v1),
            asked: get(range("bytes=2-7")),
            then: get(range("bytes=10-")), is: .unsatisfiable),
        row(
            "9111 §3.4: two adjacent parts answer a range across both", part(0, 4, hour, v1),
            asked: get(range("bytes=0-4")),
            meanwhile: step(get(range("bytes=5-7")), gets: part(5, 7, hour, v1)),
            then: get(range("bytes=3-6")),
            is: .partial("3456")),
        row(
            "9111 §3.4: two parts that make the whole answer with 200", part(0, 4, hour, v1),
            asked: get(range("bytes=0-4")),
            meanwhile: step(get(range("bytes=5-9")), gets: part(5, 9, hour, v1)), is: .hit, .status(200),
            .body(digits),
            .lacks("Content-Range"), .field("Content-Length", ["10"])),
        row(
            "9111 §3.4: two parts with a gap do not answer a range across it", part(0, 3, hour, v1),
            asked: get(range("bytes=0-3")),
            meanwhile: step(get(range("bytes=5-9")), gets: part(5, 9, hour, v1)),
            then: get(range("bytes=3-6")),
            now: part(3, 6, hour, v1), is: .forwarded),
        row(
            "9111 §3.4: parts of two versions are not combined", part(0, 4, hour, v1), asked: get(range("bytes=0-4")),
            meanwhile: step(get(range("bytes=5-9")), gets: part(5, 9, hour, "ETag: \"v2\"")),
            then: get(range("bytes=3-6")), now: part(3, 6, hour, "ETag: \"v2\""), is: .forwarded),
        row(
            "9111 §3.4: a part with all bytes answers with 200", part(0, 9, hour, v1), asked: get(range("bytes=0-9")),
            is: .hit,
            .status(200), .body(digits)),
        row(
            "9111 §3.4: a part with a weak tag is not stored", part(2, 7, hour, "ETag: W/\"v1\""),
            asked: get(range("bytes=2-7")),
            then: get(range("bytes=2-7")), is: .forwarded,
            .tells("detail=partial-without-strong-validator")),
        row(
            "9111 §3.4: a part without a validator is not stored", part(2, 7, hour), asked: get(range("bytes=2-7")),
            then: get(range("bytes=2-7")), is: .forwarded),
        row(
            "9110 §8.8.2.2: a part with a strong date is stored",
            part(2, 7, hour, "Date: \(at(0))", "Last-Modified: \(at(-60))"),
            asked: get(range("bytes=2-7")), then: get(range("bytes=3-4")), is: .partial("34")),
        row(
            "9110 §15.3.7: a 206 without Content-Range is not stored", answer(206, hour, v1, body: "234"),
            asked: get(range("bytes=2-4")), then: get(range("bytes=2-4")), is: .forwarded),
        row(
            "9110 §15.3.7.2: a multipart 206 is not stored",
            answer(206, hour, v1, "Content-Type: multipart/byteranges; boundary=x", body: "--x--"),
            asked: get(range("bytes=2-3,5-6")), then: get(range("bytes=2-3,5-6")), is: .forwarded),
        row(
            "9111 §4.2: a stale part is validated and replaced", part(2, 7, minute, v1), asked: get(range("bytes=2-7")),
            after: 61,
            then: get(range("bytes=2-7")), is: .replaced),
    ]
}
