import Testing

/// Several answers for one URL (RFC 9111 §4.1).
extension ExchangeTable {
    private static func varying(_ names: String) -> Exchange.Answer { ok(hour, v1, "Vary: \(names)") }

    /// Two requests that differ in one field, or do not.
    private static func two(
        _ name: String, _ field: String, _ first: String, _ second: String,
        is outcome: Exchange.Outcome,
        sourceLocation: SourceLocation = #_sourceLocation
    ) -> Exchange {
        row(
            name, varying(field), asked: get("\(field): \(first)"), then: get("\(field): \(second)"),
            is: outcome,
            sourceLocation: sourceLocation)
    }

    static let vary: [Exchange] = [
        two("9111 §4.1: the same value", "Foo", "1", "1", is: .hit),
        two("9111 §4.1: another value", "Foo", "1", "2", is: .forwarded),
        row(
            "9111 §4.1: the reason is told", varying("Foo"), asked: get("Foo: 1"), then: get("Foo: 2"),
            is: .forwarded,
            .tells("fwd=vary-miss")),
        row("9111 §4.1: absent from both", varying("Foo"), is: .hit),
        row("9111 §4.1: absent from the first", varying("Foo"), then: get("Foo: 1"), is: .forwarded),
        row("9111 §4.1: absent from the second", varying("Foo"), asked: get("Foo: 1"), is: .forwarded),
        row(
            "9111 §4.1: others do not matter", varying("Foo"), asked: get("Bar: 1"), then: get("Bar: 2"),
            is: .hit),
        row("9111 §4.1: *", varying("*"), is: .forwarded, .tells("vary-any")),
        row("9111 §4.1: * among names", varying("Foo, *"), is: .forwarded),
        row("9111 §4.1: * on another line", ok(hour, "Vary: Foo", "Vary: *"), is: .forwarded),
        row(
            "9111 §4.1: two names, both the same", varying("Foo, Bar"), asked: get("Foo: 1", "Bar: 2"),
            then: get("Bar: 2", "Foo: 1"), is: .hit),
        row(
            "9111 §4.1: two names, one differs", varying("Foo, Bar"), asked: get("Foo: 1", "Bar: 2"),
            then: get("Foo: 1", "Bar: 3"), is: .forwarded),
        row(
            "9111 §4.1: two lines, the second differs", ok(hour, "Vary: Foo", "Vary: Bar"),
            asked: get("Foo: 1", "Bar: 2"), then: get("Foo: 1", "Bar: 3"), is: .forwarded),
        row(
            "9110 §5.1: names are compared without case", varying("fOO"), asked: get("Foo: 1"),
            then: get("FOO: 2"),
            is: .forwarded),
        row("9110 §12.5.5: an empty Vary names nothing", varying(""), then: get("Foo: 1"), is: .hit),
        row(
            "9111 §4.1: a new variant does not replace the first", varying("Foo"), asked: get("Foo: 1"),
            meanwhile: step(get("Foo: 2"), gets: varying("Foo")), then: get("Foo: 1"), is: .hit),
        row(
            "9111 §4.1: nor does the first hide the new one", varying("Foo"), asked: get("Foo: 1"),
            meanwhile: step(get("Foo: 2"), gets: varying("Foo")), then: get("Foo: 2"), is: .hit,
            .body("body 2")),
        row(
            "9111 §4.1: three variants", varying("Foo"), asked: get("Foo: 1"),
            meanwhile: step(get("Foo: 2"), gets: varying("Foo")), step(get("Foo: 3"), gets: varying("Foo")),
            then: get("Foo: 2"), is: .hit, .body("body 2")),
        row(
            "9111 §4.3.1: a variant is validated by its own tag", ok(minute, v1, "Vary: Foo"),
            asked: get("Foo: 1"),
            meanwhile: step(get("Foo: 2"), gets: ok(minute, "ETag: \"v2\"", "Vary: Foo")), after: 61,
            then: get("Foo: 1"), now: notModified(), is: .revalidated, .saw("If-None-Match", "\"v1\"")),

        two("9111 §4.1: white space around commas", "Foo", "a,b", "a  ,\tb", is: .hit),
        two("9111 §4.1: white space within quotes", "Foo", "\"a,b\"", "\"a, b\"", is: .forwarded),
        two("9111 §4.1: case of an unknown field", "Foo", "a", "A", is: .forwarded),
        two("9111 §4.1: order of an unknown field", "Foo", "a, b", "b, a", is: .forwarded),
        row(
            "9110 §5.3: several lines are one list", varying("Foo"), asked: get("Foo: a", "Foo: b"),
            then: get("Foo: a, b"), is: .hit),
        two("9110 §12.5.3: order of encodings", "Accept-Encoding", "gzip, br", "br,gzip", is: .hit),
        two("9110 §12.5.3: case of encodings", "Accept-Encoding", "gzip", "GZip", is: .hit),
        two("9110 §12.4.2: a weight of 1", "Accept-Encoding", "gzip", "gzip;q=1.0", is: .hit),
        two(
            "9110 §12.4.2: one weight in two spellings", "Accept-Encoding", "gzip;q=0.5", "gzip ; Q=0.50",
            is: .hit),
        two("9110 §12.4.2: another weight", "Accept-Encoding", "gzip", "gzip;q=0.5", is: .forwarded),
        two("9110 §8.4.1.3: x-gzip is gzip", "Accept-Encoding", "x-gzip", "gzip", is: .hit),
        two("9110 §12.5.3: other encodings", "Accept-Encoding", "gzip", "br", is: .forwarded),
        two("9110 §12.5.3: one more encoding", "Accept-Encoding", "gzip", "gzip, br", is: .forwarded),
        two(
            "9110 §12.5.4: order of languages", "Accept-Language", "en, de;q=0.5", "de;q=0.5,en", is: .hit
        ),
        two("9110 §12.5.4: case of languages", "Accept-Language", "en-GB", "EN-gb", is: .hit),
        two("9110 §12.5.4: other languages", "Accept-Language", "en", "de", is: .forwarded),
        two(
            "9110 §12.5.4: the same languages the other way round", "Accept-Language", "en, de;q=0.5",
            "de, en;q=0.5",
            is: .forwarded),
        two(
            "9110 §12.5.1: order of media types", "Accept", "text/html, */*;q=0.1",
            "*/*;q=0.1, text/html", is: .hit),
        two("6265 §5.4: another cookie", "Cookie", "a=1", "a=2", is: .forwarded),
        two("6265 §5.4: the same cookie", "Cookie", "a=1; b=2", "a=1; b=2", is: .hit),
        two("9110 §10.1.5: another user agent", "User-Agent", "a/1", "a/2", is: .forwarded),
        two("9110 §10.1.5: the same user agent", "User-Agent", "a/1", "a/1", is: .hit),
    ]
}
