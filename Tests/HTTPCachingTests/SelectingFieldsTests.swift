import HTTPTypes
import Primitives
import Testing

@testable import HTTPCaching

@Suite("The selecting fields of a stored response (RFC 9111 §4.1)")
struct SelectingFieldsTests {
    @Test(
        "A later request matches if each field that Vary names has the same meaning as in the first request",
        arguments: [
            // Vary names no field.
            ([], ["Accept: a"], ["Accept: b"], true),
            (["Vary:"], ["Accept: a"], ["Accept: b"], true),
            (["Vary: ,, "], ["Accept: a"], ["Accept: b"], true),
            // Vary may have several names and lines; names ignore letter case.
            (["Vary: Foo"], ["Foo: 1"], ["Foo: 1"], true),
            (["Vary: Foo"], ["Foo: 1"], ["Foo: 2"], false),
            (["Vary: Foo"], ["Foo: 1", "Bar: 1"], ["Foo: 1", "Bar: 2"], true),
            (["vary: FOO"], ["foo: 1"], ["fOO: 1"], true),
            (["Vary: Foo, Bar"], ["Foo: 1", "Bar: 2"], ["Bar: 2", "Foo: 1"], true),
            (["Vary: Foo, Bar"], ["Foo: 1", "Bar: 2"], ["Foo: 1", "Bar: 3"], false),
            (["Vary: Foo", "Vary: Bar"], ["Foo: 1", "Bar: 2"], ["Foo: 1", "Bar: 3"], false),
            (["Vary:  Foo ,, Bar,"], ["Foo: 1", "Bar: 2"], ["Foo: 1", "Bar: 2"], true),
            // An absent field matches only an absent field.
            (["Vary: Foo"], [], [], true),
            (["Vary: Foo"], [], ["Foo: 1"], false),
            (["Vary: Foo"], ["Foo: 1"], [], false),
            (["Vary: Foo"], [], ["Foo:"], false),
            (["Vary: Foo"], ["Foo:"], ["Foo:"], true),
            // White space is ignored, and lines form one list (RFC 9110 §5.3).
            (["Vary: Foo"], ["Foo: 1, 2"], ["Foo: 1,2"], true),
            (["Vary: Foo"], ["Foo: 1, 2"], ["Foo: 1", "Foo: 2"], true),
            (["Vary: Foo"], ["Foo: 1, 2"], ["Foo: 2, 1"], false),
            (["Vary: Foo"], ["Foo: a"], ["Foo: A"], false),
            // RFC 9110 §12.5.3, §12.5.4: lists of codings and of languages are compared by their meaning.
            (["Vary: Accept-Encoding"], ["Accept-Encoding: gzip, br"], ["Accept-Encoding: br,GZIP"], true),
            (["Vary: Accept-Encoding"], ["Accept-Encoding: gzip;q=1.0"], ["Accept-Encoding: gzip"], true),
            (["Vary: Accept-Encoding"], ["Accept-Encoding: gzip;q=0.5"], ["Accept-Encoding: gzip"], false),
            (["Vary: Accept-Language"], ["Accept-Language: en, de;q=0.5"], ["Accept-Language: de;q=0.50, EN"], true),
            (["Vary: Accept-Language"], ["Accept-Language: en, de"], ["Accept-Language: en, fr"], false),
        ] as [([String], [String], [String], Bool)])
    func matching(vary: [String], first: [String], second: [String], isMatch: Bool) throws {
        let selection = try #require(
            SelectingFields(vary: Sample.fields(vary), request: Sample.fields(first)))
        #expect(selection.matches(Sample.fields(first)))
        #expect(selection.matches(Sample.fields(second)) == isMatch)
        // The text is read back unchanged, and two texts differ exactly when the meanings differ.
        #expect(SelectingFields(text: selection.text) == selection)
        let other = SelectingFields(vary: Sample.fields(vary), request: Sample.fields(second))
        #expect((other?.text == selection.text) == isMatch)
    }

    @Test(
        "A response with Vary: * or with an invalid name in Vary matches no request",
        arguments: [
            ["Vary: *"], ["Vary: Foo, *"], ["Vary: *, Foo"], ["Vary: ,*"], ["Vary: Foo", "Vary: *"],
            ["Vary: *", "Vary: Foo"], ["Vary: Foo Bar"], ["Vary: \"Foo\""], ["Vary: Foo;q=1"],
        ])
    func unselectable(vary: [String]) {
        #expect(SelectingFields(vary: Sample.fields(vary), request: Sample.fields(["Foo: 1"])) == nil)
    }

    @Test("Selecting fields with values that differ in a non-UTF-8 byte do not match (RFC 9110 §5.5)")
    func opaqueBytes() throws {
        func request(_ byte: UInt8) -> HTTPFields {
            HTTPFields([HTTPField(name: HTTPField.Name("Foo")!, lenientValue: [byte])])
        }
        let selection = try #require(
            SelectingFields(vary: Sample.fields(["Vary: Foo"]), request: request(0xE9)))
        #expect(selection.matches(request(0xE9)))
        #expect(!selection.matches(request(0xE8)))
        #expect(SelectingFields(text: selection.text) == selection)
    }

    @Test("The text of selecting fields has each name once, sorted, and distinguishes absent from empty fields")
    func text() {
        let fields = Sample.fields(["Vary: B, a", "Vary: C, A"])
        let selection = SelectingFields(vary: fields, request: Sample.fields(["C:", "A: x: y"]))
        #expect(selection?.text == "a:x: y\nb\nc:")
        #expect(SelectingFields(vary: [:], request: fields)?.text == "")
        for text in ["B:1", "b\na", "a\na", "a b:1", ":1"] { #expect(SelectingFields(text: text) == nil, "\(text)") }
    }

    @Test("The matching response with the latest Date is selected; if none matches, the request is a Vary miss")
    func selection() {
        let request = Sample.request(["Foo: 1"])
        let other = Sample.stored(["Vary: Foo", "Cache-Control: max-age=9"], request: ["Foo: 2"])
        let old = Sample.stored(["Date: " + Sample.date(-5), "Vary: Foo"], request: ["Foo: 1"])
        let new = Sample.stored(["Date: " + Sample.date(-1)], request: ["Foo: 1"])
        #expect(ReusePolicy.select(request, from: []) == nil)
        #expect(ReusePolicy.select(request, from: [other]) == nil)
        #expect(ReusePolicy.select(request, from: [other, old]) == 1)
        #expect(ReusePolicy.select(request, from: [new, old, other]) == 0)
        #expect(ReusePolicy.select(request, from: [old, other, new]) == 2)
        #expect(ReusePolicy.decide(request, other, now: Sample.now) == .fetch(.varyMiss))
        let onlyIfCached = Sample.request(["Foo: 1", "Cache-Control: only-if-cached"])
        #expect(ReusePolicy.decide(onlyIfCached, other, now: Sample.now) == .refuse)
        // A response kept only by a caller's ttl is not selected for a request without a ttl, even if it is the newest.
        var granted = new
        granted.grant = CallerGrant(isOnlyReason: true, authorization: nil)
        #expect(ReusePolicy.select(request, from: [old, granted]) == 0)
    }
}
