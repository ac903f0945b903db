import Testing

/// Conditions in the requests of clients. Larder itself evaluates these conditions (RFC 9111 §4.3.2, RFC 9110 §13).
extension ExchangeTable {
    private static let modified = ok(hour, "Last-Modified: \(at(-3600))")
    private static let tagged = ok(hour, v1)
    private static func none(_ tags: String) -> String { "If-None-Match: " + tags }
    private static func match(_ tags: String) -> String { "If-Match: " + tags }
    private static func since(_ date: String) -> String { "If-Modified-Since: " + date }
    private static func unmodified(_ date: String) -> String { "If-Unmodified-Since: " + date }

    static let conditions: [Exchange] = [
        row(
            "9110 §13.1.2: If-None-Match with the stored tag gets 304", tagged, then: get(none("\"v1\"")),
            is: .notModified),
        row(
            "9211 §2.3: If-None-Match with the tag of a newly fetched answer gets 304", tagged,
            then: get(none("\"v1\""), at: "other"),
            is: .forwarded, .status(304), .body(""), .tells("fwd-status=200")),
        row(
            "9110 §13.2.2: on a miss, If-None-Match overrides Range and is sent on", tagged,
            then: get(none("\"v1\""), "Range: bytes=1-2", at: "other"), now: notModified(v1), is: .forwarded,
            .status(304), .body(""), .saw("If-None-Match", "\"v1\"")),
        row(
            "9110 §8.6: the Content-Length of the origin's 304 is passed on", ok("Cache-Control: no-store", v1),
            then: get(none("\"v1\"")), now: notModified(v1, "Content-Length: 1234"), is: .forwarded, .status(304),
            .body(""), .field("Content-Length", ["1234"])),
        row(
            "9110 §13.1.2: If-None-Match with another tag gets the stored answer", tagged, then: get(none("\"v2\"")),
            is: .hit),
        row(
            "9110 §13.1.2: a weak tag in If-None-Match matches the stored strong tag", tagged,
            then: get(none("W/\"v1\"")), is: .notModified),
        row(
            "9110 §8.8.3.2: a stored weak tag matches If-None-Match", ok(hour, "ETag: W/\"v1\""),
            then: get(none("\"v1\"")),
            is: .notModified),
        row(
            "9110 §13.1.2: If-None-Match matches one tag of a list", tagged, then: get(none("\"v0\", W/\"v1\",\"v2\"")),
            is: .notModified),
        row(
            "9110 §13.1.2: If-None-Match matches one tag on several lines", tagged,
            then: get(none("\"v0\""), none("\"v1\"")),
            is: .notModified),
        row("9110 §13.1.2: If-None-Match: * matches a stored answer", tagged, then: get(none("*")), is: .notModified),
        row(
            "9110 §13.1.2: If-None-Match: * matches a stored answer without a tag", ok(hour), then: get(none("*")),
            is: .notModified),
        row("9110 §8.8.3: a tag without quotes is ignored", tagged, then: get(none("v1")), is: .hit),
        row(
            "9110 §8.8.3: a tag with a comma matches", ok(hour, "ETag: \"a,b\""), then: get(none("\"a,b\"")),
            is: .notModified),
        row("9110 §8.8.3: tags are compared with case", tagged, then: get(none("\"V1\"")), is: .hit),
        row("9110 §13.2.2: If-None-Match in HEAD gets 304", tagged, then: head(none("\"v1\"")), is: .notModified),
        row(
            "9110 §13.1.3: If-Modified-Since with the date of Last-Modified gets 304", modified,
            then: get(since(at(-3600))), is: .notModified),
        row(
            "9110 §13.1.3: If-Modified-Since with a later date gets 304", modified, then: get(since(at(-3599))),
            is: .notModified),
        row(
            "9110 §13.1.3: If-Modified-Since with an earlier date gets the stored answer", modified,
            then: get(since(at(-3601))), is: .hit),
        row(
            "9110 §13.1.3: If-Modified-Since without a valid date is ignored", modified, then: get(since("yesterday")),
            is: .hit),
        row(
            "9110 §13.1.3: If-Modified-Since with two dates is ignored", modified,
            then: get(since(at(0)), since(at(0))), is: .hit),
        row(
            "9110 §5.6.7: If-Modified-Since reads an RFC 850 date", modified,
            then: get(since("Thursday, 01-Jan-26 00:00:00 GMT")),
            is: .notModified),
        row(
            "9110 §5.6.7: If-Modified-Since reads an asctime() date", modified,
            then: get(since("Thu Jan  1 00:00:00 2026")),
            is: .notModified),
        row(
            "9111 §4.3.2: Date stands in for a missing Last-Modified", ok(hour), then: get(since(at(0))),
            is: .notModified),
        row(
            "9111 §4.3.2: If-Modified-Since before Date gets the stored answer", ok(hour), then: get(since(at(-1))),
            is: .hit),
        row(
            "9110 §13.1.3: If-None-Match with another tag overrides If-Modified-Since",
            ok(hour, v1, "Last-Modified: \(at(-3600))"),
            then: get(none("\"v2\""), since(at(0))), is: .hit),
        row(
            "9110 §13.1.3: If-None-Match with the stored tag overrides If-Modified-Since",
            ok(hour, v1, "Last-Modified: \(at(-3600))"),
            then: get(none("\"v1\""), since(at(-7200))), is: .notModified),

        row(
            "9110 §13.1.1: If-Match with the stored tag gets the stored answer", tagged, then: get(match("\"v1\"")),
            is: .hit
        ),
        row(
            "9110 §13.1.1: If-Match with another tag gets 412", tagged, then: get(match("\"v2\"")),
            is: .preconditionFailed
        ),
        row("9110 §13.1.1: If-Match matches one tag of a list", tagged, then: get(match("\"v0\", \"v1\"")), is: .hit),
        row("9110 §13.1.1: If-Match: * matches a stored answer", tagged, then: get(match("*")), is: .hit),
        row(
            "9110 §13.1.1: If-Match compares strongly, so a weak tag gets 412", tagged, then: get(match("W/\"v1\"")),
            is: .preconditionFailed),
        row(
            "9110 §13.1.1: If-Match gets 412 if no tag is stored", ok(hour), then: get(match("\"v1\"")),
            is: .preconditionFailed),
        row(
            "9110 §13.1.4: If-Unmodified-Since with the date of Last-Modified gets the stored answer", modified,
            then: get(unmodified(at(-3600))), is: .hit),
        row(
            "9110 §13.1.4: If-Unmodified-Since with an earlier date gets 412", modified,
            then: get(unmodified(at(-3601))),
            is: .preconditionFailed),
        row(
            "9110 §13.1.4: If-Unmodified-Since without a valid date is ignored", modified, then: get(unmodified("x")),
            is: .hit),
        row(
            "9111 §4.3.2: the time of receipt stands in for an invalid Date in If-Modified-Since", ok(hour, "Date: x"),
            then: get(since(at(0))), is: .notModified),
        row(
            "9111 §4.3.2: If-Modified-Since before the time of receipt gets the stored answer", ok(hour, "Date: x"),
            then: get(since(at(-1))), is: .hit),
        row(
            "9111 §4.3.2: Date decides If-Modified-Since, also beside If-Unmodified-Since", ok(hour),
            then: get(since(at(0)), unmodified(at(-3600))), is: .notModified),
        row(
            "9110 §13.1.4: If-Unmodified-Since is ignored without a Last-Modified", ok(hour),
            then: get(unmodified(at(-3600))), is: .hit),
        row(
            "9110 §13.2.2: If-Match overrides If-Unmodified-Since",
            ok(hour, v1, "Last-Modified: \(at(-3600))"),
            then: get(match("\"v1\""), unmodified(at(-7200))), is: .hit),
        row(
            "9110 §13.2.2: If-Match is evaluated before If-None-Match", tagged,
            then: get(match("\"v2\""), none("\"v1\"")),
            is: .preconditionFailed),
        row(
            "9110 §13.2.2: If-Match and If-None-Match with the stored tag get 304", tagged,
            then: get(match("\"v1\""), none("\"v1\"")),
            is: .notModified),

        row(
            "9110 §15.4.5: a 304 has the validator fields and no fields of the body",
            ok(hour, v1, "Vary: Foo", "Content-Location: /x", "Content-Type: text/plain", "X: 1"),
            then: get(none("\"v1\"")), is: .notModified, .field("ETag", ["\"v1\""]),
            .field("Vary", ["Foo", "Sec-Fetch-Dest, Service-Worker"]),
            .field("Cache-Control", ["max-age=3600"]), .field("Content-Location", ["/x"]),
            .field("Date", [at(0)]),
            .age(1), .lacks("Content-Type"), .lacks("X")),
        row(
            "9110 §13.2.1: If-None-Match is ignored for a stored 404", answer(404, hour, v1),
            then: get(none("\"v1\"")), is: .hit),
        row(
            "9110 §13.2.1: If-Match is ignored for a stored 301", answer(301, hour, v1, "Location: /x"),
            then: get(match("\"v2\"")), is: .hit),
        row(
            "9111 §4.3.2: on a miss, Larder asks without If-None-Match and answers 304 itself", tagged,
            then: get(none("\"v1\""), at: "x"),
            is: .forwarded, .status(304), .body(""), .sawNo("If-None-Match")),
        row(
            "9111 §4.3.2: on a miss, a client with another tag gets the new answer", tagged,
            then: get(none("\"v0\""), at: "x"),
            is: .forwarded, .sawNo("If-None-Match")),
        row(
            "9111 §4.3.3: the origin's 304 becomes a 304 for a client with the same tag", ok(minute, v1), after: 61,
            then: get(none("\"v1\"")),
            now: notModified(v1), is: .revalidated, .status(304), .body("")),
        row(
            "9111 §4.3.3: a client with the tag of the replacing answer gets 304", ok(minute, v1), after: 61,
            then: get(none("\"v2\"")), now: ok(minute, "ETag: \"v2\""), is: .replaced, .status(304),
            .body("")),
        row(
            "9111 §4.3.3: a client with another tag gets the replacing answer", ok(minute, v1), after: 61,
            then: get(none("\"v1\"")), now: ok(minute, "ETag: \"v2\""), is: .replaced),
        row(
            "9110 §13.1.2: If-None-Match is sent on if the answer cannot be stored", ok("Cache-Control: no-store", v1),
            then: get(none("\"v1\"")), now: notModified(v1), is: .forwarded,
            .saw("If-None-Match", "\"v1\"")),
    ]
}
