import Testing

/// Several answers for one URL (RFC 9111 §4.1).
extension ExchangeTable {
    private static func varying(_ names: String) -> Exchange.Answer { ok(hour, v1, "Vary: \(names)") }

    /// Makes a row of two requests. Each has its own value of the field that Vary names.
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
        two("9111 §4.1: the same field value gets the stored variant", "Foo", "1", "1", is: .hit),
        two("9111 §4.1: another field value is a miss", "Foo", "1", "2", is: .forwarded),
        row(
            "9111 §4.1: a miss for another field value reports fwd=vary-miss", varying("Foo"), asked: get("Foo: 1"),
            then: get("Foo: 2"),
            is: .forwarded,
            .tells("fwd=vary-miss")),
        row("9111 §4.1: a field absent from both requests matches", varying("Foo"), is: .hit),
        row(
            "9111 §4.1: a field absent from the first request does not match", varying("Foo"), then: get("Foo: 1"),
            is: .forwarded),
        row(
            "9111 §4.1: a field absent from the second request does not match", varying("Foo"), asked: get("Foo: 1"),
            is: .forwarded),
        row(
            "9111 §4.1: a field that Vary does not name is ignored", varying("Foo"), asked: get("Bar: 1"),
            then: get("Bar: 2"),
            is: .hit),
        row("9111 §4.1: Vary: * matches no request", varying("*"), is: .forwarded, .tells("vary-any")),
        row("9111 §4.1: Vary with * among names matches no request", varying("Foo, *"), is: .forwarded),
        row(
            "9111 §4.1: Vary with * on another line matches no request", ok(hour, "Vary: Foo", "Vary: *"),
            is: .forwarded),
        row(
            "9111 §4.1: two equal fields match in any order", varying("Foo, Bar"), asked: get("Foo: 1", "Bar: 2"),
            then: get("Bar: 2", "Foo: 1"), is: .hit),
        row(
            "9111 §4.1: a difference in the second of two fields is a miss", varying("Foo, Bar"),
            asked: get("Foo: 1", "Bar: 2"),
            then: get("Foo: 1", "Bar: 3"), is: .forwarded),
        row(
            "9111 §4.1: a difference in a field of the second Vary line is a miss", ok(hour, "Vary: Foo", "Vary: Bar"),
            asked: get("Foo: 1", "Bar: 2"), then: get("Foo: 1", "Bar: 3"), is: .forwarded),
        row(
            "9110 §5.1: names in Vary are compared without case", varying("fOO"), asked: get("Foo: 1"),
            then: get("FOO: 2"),
            is: .forwarded),
        row("9110 §12.5.5: an empty Vary names no field", varying(""), then: get("Foo: 1"), is: .hit),
        row(
            "9111 §4.1: a new variant does not replace the first", varying("Foo"), asked: get("Foo: 1"),
            meanwhile: step(get("Foo: 2"), gets: varying("Foo")), then: get("Foo: 1"), is: .hit),
        row(
            "9111 §4.1: the first variant does not hide a new variant", varying("Foo"), asked: get("Foo: 1"),
            meanwhile: step(get("Foo: 2"), gets: varying("Foo")), then: get("Foo: 2"), is: .hit,
            .body("body 2")),
        row(
            "9111 §4.1: three variants are stored beside one another", varying("Foo"), asked: get("Foo: 1"),
            meanwhile: step(get("Foo: 2"), gets: varying("Foo")), step(get("Foo: 3"), gets: varying("Foo")),
            then: get("Foo: 2"), is: .hit, .body("body 2")),
        row(
            "9111 §4.3.1: a variant is validated by its own tag", ok(minute, v1, "Vary: Foo"),
            asked: get("Foo: 1"),
            meanwhile: step(get("Foo: 2"), gets: ok(minute, "ETag: \"v2\"", "Vary: Foo")), after: 61,
            then: get("Foo: 1"), now: notModified(), is: .revalidated, .saw("If-None-Match", "\"v1\"")),

        two("9111 §4.1: white space around commas is ignored", "Foo", "a,b", "a  ,\tb", is: .hit),
        two("9111 §4.1: white space within quotes counts", "Foo", "\"a,b\"", "\"a, b\"", is: .forwarded),
        two("9111 §4.1: the case of an unknown field's value counts", "Foo", "a", "A", is: .forwarded),
        two("9111 §4.1: the order in an unknown field's value counts", "Foo", "a, b", "b, a", is: .forwarded),
        row(
            "9110 §5.3: several lines equal one list", varying("Foo"), asked: get("Foo: a", "Foo: b"),
            then: get("Foo: a, b"), is: .hit),
        two("9110 §12.5.3: the order of encodings is ignored", "Accept-Encoding", "gzip, br", "br,gzip", is: .hit),
        two("9110 §12.5.3: the case of encodings is ignored", "Accept-Encoding", "gzip", "GZip", is: .hit),
        two("9110 §12.4.2: a weight of 1 equals no weight", "Accept-Encoding", "gzip", "gzip;q=1.0", is: .hit),
        two(
            "9110 §12.4.2: two spellings of one weight are equal", "Accept-Encoding", "gzip;q=0.5", "gzip ; Q=0.50",
            is: .hit),
        two(
            "9110 §12.4.2: another weight of an encoding is a miss", "Accept-Encoding", "gzip", "gzip;q=0.5",
            is: .forwarded),
        two("9110 §8.4.1.3: x-gzip equals gzip", "Accept-Encoding", "x-gzip", "gzip", is: .hit),
        two("9110 §12.5.3: another encoding is a miss", "Accept-Encoding", "gzip", "br", is: .forwarded),
        two("9110 §12.5.3: an additional encoding is a miss", "Accept-Encoding", "gzip", "gzip, br", is: .forwarded),
        two(
            "9110 §12.5.4: the order of weighted languages is ignored", "Accept-Language", "en, de;q=0.5",
            "de;q=0.5,en", is: .hit
        ),
        two("9110 §12.5.4: the case of languages is ignored", "Accept-Language", "en-GB", "EN-gb", is: .hit),
        two("9110 §12.5.4: another language is a miss", "Accept-Language", "en", "de", is: .forwarded),
        two(
            "9110 §12.5.4: exchanged weights of two languages are a miss", "Accept-Language", "en, de;q=0.5",
            "de, en;q=0.5",
            is: .forwarded),
        two(
            "9110 §12.5.1: the order of weighted media types is ignored", "Accept", "text/html, */*;q=0.1",
            "*/*;q=0.1, text/html", is: .hit),
        two("6265 §5.4: another cookie is a miss", "Cookie", "a=1", "a=2", is: .forwarded),
        two("6265 §5.4: the same cookie matches", "Cookie", "a=1; b=2", "a=1; b=2", is: .hit),
        two("9110 §10.1.5: another user agent is a miss", "User-Agent", "a/1", "a/2", is: .forwarded),
        two("9110 §10.1.5: the same user agent matches", "User-Agent", "a/1", "a/1", is: .hit),
    ]
}
