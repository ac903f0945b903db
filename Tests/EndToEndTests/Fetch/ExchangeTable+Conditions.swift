import Testing

/// Conditions of clients that Larder answers itself (RFC 9111 §4.3.2, RFC 9110 §13).
extension ExchangeTable {
    private static let modified = ok(hour, "Last-Modified: \(at(-3600))")
    private static let tagged = ok(hour, v1)
    private static func none(_ tags: String) -> String { "If-None-Match: " + tags }
    private static func match(_ tags: String) -> String { "If-Match: " + tags }
    private static func since(_ date: String) -> String { "If-Modified-Since: " + date }
    private static func unmodified(_ date: String) -> String { "If-Unmodified-Since: " + date }

    static let conditions: [Exchange] = [
        row(
            "9110 §13.1.2: the tag that is stored", tagged, then: get(none("\"v1\"")), is: .notModified),
        row(
            "9211 §2.3: the tag of what had to be fetched whole", tagged, then: get(none("\"v1\""), at: "other"),
            is: .forwarded, .status(304), .body(""), .tells("fwd-status=200")),
        row(
            "9110 §13.2.2: If-None-Match goes before Range, when nothing is held", tagged,
            then: get(none("\"v1\""), "Range: bytes=1-2", at: "other"), now: notModified(v1), is: .forwarded,
            .status(304), .body(""), .saw("If-None-Match", "\"v1\"")),
        row(
            "9110 §8.6: the length that the origin's 304 states", ok("Cache-Control: no-store", v1),
            then: get(none("\"v1\"")), now: notModified(v1, "Content-Length: 1234"), is: .forwarded, .status(304),
            .body(""), .field("Content-Length", ["1234"])),
        row("9110 §13.1.2: another tag", tagged, then: get(none("\"v2\"")), is: .hit),
        row("9110 §13.1.2: a weak tag", tagged, then: get(none("W/\"v1\"")), is: .notModified),
        row(
            "9110 §8.8.3.2: a weak tag is stored", ok(hour, "ETag: W/\"v1\""), then: get(none("\"v1\"")),
            is: .notModified),
        row(
            "9110 §13.1.2: a list", tagged, then: get(none("\"v0\", W/\"v1\",\"v2\"")), is: .notModified),
        row(
            "9110 §13.1.2: several lines", tagged, then: get(none("\"v0\""), none("\"v1\"")),
            is: .notModified),
        row("9110 §13.1.2: *", tagged, then: get(none("*")), is: .notModified),
        row("9110 §13.1.2: * where there is no tag", ok(hour), then: get(none("*")), is: .notModified),
        row("9110 §8.8.3: a tag without quotes is none", tagged, then: get(none("v1")), is: .hit),
        row(
            "9110 §8.8.3: a tag with a comma", ok(hour, "ETag: \"a,b\""), then: get(none("\"a,b\"")),
            is: .notModified),
        row("9110 §8.8.3: tags are compared with case", tagged, then: get(none("\"V1\"")), is: .hit),
        row("9110 §13.2.2: HEAD as well", tagged, then: head(none("\"v1\"")), is: .notModified),
        row(
            "9110 §13.1.3: not modified since", modified, then: get(since(at(-3600))), is: .notModified),
        row("9110 §13.1.3: a later date", modified, then: get(since(at(-3599))), is: .notModified),
        row("9110 §13.1.3: modified since", modified, then: get(since(at(-3601))), is: .hit),
        row("9110 §13.1.3: no date", modified, then: get(since("yesterday")), is: .hit),
        row("9110 §13.1.3: two dates", modified, then: get(since(at(0)), since(at(0))), is: .hit),
        row(
            "9110 §5.6.7: RFC 850", modified, then: get(since("Thursday, 01-Jan-26 00:00:00 GMT")),
            is: .notModified),
        row(
            "9110 §5.6.7: asctime()", modified, then: get(since("Thu Jan  1 00:00:00 2026")),
            is: .notModified),
        row(
            "9111 §4.3.2: Date stands in for Last-Modified", ok(hour), then: get(since(at(0))),
            is: .notModified),
        row("9111 §4.3.2: it was made after that", ok(hour), then: get(since(at(-1))), is: .hit),
        row(
            "9110 §13.1.3: If-None-Match goes first, and says no",
            ok(hour, v1, "Last-Modified: \(at(-3600))"),
            then: get(none("\"v2\""), since(at(0))), is: .hit),
        row(
            "9110 §13.1.3: If-None-Match goes first, and says yes",
            ok(hour, v1, "Last-Modified: \(at(-3600))"),
            then: get(none("\"v1\""), since(at(-7200))), is: .notModified),

        row(
            "9110 §13.1.1: If-Match, the tag that is stored", tagged, then: get(match("\"v1\"")), is: .hit
        ),
        row(
            "9110 §13.1.1: If-Match, another", tagged, then: get(match("\"v2\"")), is: .preconditionFailed
        ),
        row("9110 §13.1.1: If-Match, a list", tagged, then: get(match("\"v0\", \"v1\"")), is: .hit),
        row("9110 §13.1.1: If-Match, *", tagged, then: get(match("*")), is: .hit),
        row(
            "9110 §13.1.1: If-Match compares strongly", tagged, then: get(match("W/\"v1\"")),
            is: .preconditionFailed),
        row(
            "9110 §13.1.1: If-Match, no tag is stored", ok(hour), then: get(match("\"v1\"")),
            is: .preconditionFailed),
        row(
            "9110 §13.1.4: not modified since then", modified, then: get(unmodified(at(-3600))), is: .hit),
        row(
            "9110 §13.1.4: modified since then", modified, then: get(unmodified(at(-3601))),
            is: .preconditionFailed),
        row("9110 §13.1.4: since no date", modified, then: get(unmodified("x")), is: .hit),
        row(
            "9111 §4.3.2: the receipt decides since when, where Date is no date", ok(hour, "Date: x"),
            then: get(since(at(0))), is: .notModified),
        row("9111 §4.3.2: and not before it", ok(hour, "Date: x"), then: get(since(at(-1))), is: .hit),
        row(
            "9111 §4.3.2: Date decides beside a condition that needs a modification date", ok(hour),
            then: get(since(at(0)), unmodified(at(-3600))), is: .notModified),
        row("9110 §13.1.4: no date is known", ok(hour), then: get(unmodified(at(-3600))), is: .hit),
        row(
            "9110 §13.2.2: If-Match before If-Unmodified-Since",
            ok(hour, v1, "Last-Modified: \(at(-3600))"),
            then: get(match("\"v1\""), unmodified(at(-7200))), is: .hit),
        row(
            "9110 §13.2.2: If-Match before If-None-Match", tagged,
            then: get(match("\"v2\""), none("\"v1\"")),
            is: .preconditionFailed),
        row(
            "9110 §13.2.2: both hold", tagged, then: get(match("\"v1\""), none("\"v1\"")),
            is: .notModified),

        row(
            "9110 §15.4.5: the fields of a 304",
            ok(hour, v1, "Vary: Foo", "Content-Location: /x", "Content-Type: text/plain", "X: 1"),
            then: get(none("\"v1\"")), is: .notModified, .field("ETag", ["\"v1\""]),
            .field("Vary", ["Foo", "Sec-Fetch-Dest, Service-Worker"]),
            .field("Cache-Control", ["max-age=3600"]), .field("Content-Location", ["/x"]),
            .field("Date", [at(0)]),
            .age(1), .lacks("Content-Type"), .lacks("X")),
        row(
            "9110 §13.2.1: conditions are not for a 404", answer(404, hour, v1),
            then: get(none("\"v1\"")), is: .hit),
        row(
            "9110 §13.2.1: nor for a 301", answer(301, hour, v1, "Location: /x"),
            then: get(match("\"v2\"")), is: .hit),
        row(
            "9111 §4.3.2: a miss asks for all, and answers itself", tagged,
            then: get(none("\"v1\""), at: "x"),
            is: .forwarded, .status(304), .body(""), .sawNo("If-None-Match")),
        row(
            "9111 §4.3.2: a miss that the client does not have", tagged,
            then: get(none("\"v0\""), at: "x"),
            is: .forwarded, .sawNo("If-None-Match")),
        row(
            "9111 §4.3.3: 304 for the client too", ok(minute, v1), after: 61, then: get(none("\"v1\"")),
            now: notModified(v1), is: .revalidated, .status(304), .body("")),
        row(
            "9111 §4.3.3: the client has the new answer already", ok(minute, v1), after: 61,
            then: get(none("\"v2\"")), now: ok(minute, "ETag: \"v2\""), is: .replaced, .status(304),
            .body("")),
        row(
            "9111 §4.3.3: neither the client nor Larder has it", ok(minute, v1), after: 61,
            then: get(none("\"v1\"")), now: ok(minute, "ETag: \"v2\""), is: .replaced),
        row(
            "9110 §13.1.2: what cannot be kept is the origin's affair", ok("Cache-Control: no-store", v1),
            then: get(none("\"v1\"")), now: notModified(v1), is: .forwarded,
            .saw("If-None-Match", "\"v1\"")),
    ]
}
