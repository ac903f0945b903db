import HTTPTypes
import Primitives
import Testing

@testable import HTTPCaching

@Suite("Which request selects what is stored (RFC 9111 §4.1)")
struct SelectingFieldsTests {
    @Test(
        "a later request matches when every field that Vary names means the same",
        arguments: [
            // Nothing is named.
            ([], ["Accept: a"], ["Accept: b"], true),
            (["Vary:"], ["Accept: a"], ["Accept: b"], true),
            (["Vary: ,, "], ["Accept: a"], ["Accept: b"], true),
            // One, several, several lines; names without case.
            (["Vary: Foo"], ["Foo: 1"], ["Foo: 1"], true),
            (["Vary: Foo"], ["Foo: 1"], ["Foo: 2"], false),
            (["Vary: Foo"], ["Foo: 1", "Bar: 1"], ["Foo: 1", "Bar: 2"], true),
            (["vary: FOO"], ["foo: 1"], ["fOO: 1"], true),
            (["Vary: Foo, Bar"], ["Foo: 1", "Bar: 2"], ["Bar: 2", "Foo: 1"], true),
            (["Vary: Foo, Bar"], ["Foo: 1", "Bar: 2"], ["Foo: 1", "Bar: 3"], false),
            (["Vary: Foo", "Vary: Bar"], ["Foo: 1", "Bar: 2"], ["Foo: 1", "Bar: 3"], false),
            (["Vary:  Foo ,, Bar,"], ["Foo: 1", "Bar: 2"], ["Foo: 1", "Bar: 2"], true),
            // Absent matches absent, and nothing else.
            (["Vary: Foo"], [], [], true),
            (["Vary: Foo"], [], ["Foo: 1"], false),
            (["Vary: Foo"], ["Foo: 1"], [], false),
            (["Vary: Foo"], [], ["Foo:"], false),
            (["Vary: Foo"], ["Foo:"], ["Foo:"], true),
            // White space, and lines that make one list (RFC 9110 §5.3).
            (["Vary: Foo"], ["Foo: 1, 2"], ["Foo: 1,2"], true),
            (["Vary: Foo"], ["Foo: 1, 2"], ["Foo: 1", "Foo: 2"], true),
            (["Vary: Foo"], ["Foo: 1, 2"], ["Foo: 2, 1"], false),
            (["Vary: Foo"], ["Foo: a"], ["Foo: A"], false),
            // RFC 9110 §12.5.3, §12.5.4.
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
        // What is read back is the same, and the texts differ just when the meanings do.
        #expect(SelectingFields(text: selection.text) == selection)
        let other = SelectingFields(vary: Sample.fields(vary), request: Sample.fields(second))
        #expect((other?.text == selection.text) == isMatch)
    }

    @Test(
        "a star anywhere, or what is no name, is selected by no request",
        arguments: [
            ["Vary: *"], ["Vary: Foo, *"], ["Vary: *, Foo"], ["Vary: ,*"], ["Vary: Foo", "Vary: *"],
            ["Vary: *", "Vary: Foo"], ["Vary: Foo Bar"], ["Vary: \"Foo\""], ["Vary: Foo;q=1"],
        ])
    func unselectable(vary: [String]) {
        #expect(SelectingFields(vary: Sample.fields(vary), request: Sample.fields(["Foo: 1"])) == nil)
    }

    @Test("bytes that are no UTF-8 are told apart (RFC 9110 §5.5)")
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

    @Test("the text names each field once, sorted, and tells absent from empty")
    func text() {
        let fields = Sample.fields(["Vary: B, a", "Vary: C, A"])
        let selection = SelectingFields(vary: fields, request: Sample.fields(["C:", "A: x: y"]))
        #expect(selection?.text == "a:x: y\nb\nc:")
        #expect(SelectingFields(vary: [:], request: fields)?.text == "")
        for text in ["B:1", "b\na", "a\na", "a b:1", ":1"] { #expect(SelectingFields(text: text) == nil, "\(text)") }
    }

    @Test("of several that match the latest is selected; of others it is said why they are not")
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
        // What is somebody else's is not selected, however new.
        var granted = new
        granted.grant = CallerGrant(isOnlyReason: true, authorization: nil)
        #expect(ReusePolicy.select(request, from: [old, granted]) == 0)
    }
}
