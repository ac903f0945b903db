import JSONEdits
import Primitives
import Testing

@Suite("JSON Merge Patch")
struct MergePatchTests {
    @Test(
        "The examples of the RFC give their results (RFC 7396 appendix A)",
        arguments: [
            (#"{"a":"b"}"#, #"{"a":"c"}"#, #"{"a":"c"}"#), (#"{"a":"b"}"#, #"{"b":"c"}"#, #"{"a":"b","b":"c"}"#),
            (#"{"a":"b"}"#, #"{"a":null}"#, "{}"), (#"{"a":"b","b":"c"}"#, #"{"a":null}"#, #"{"b":"c"}"#),
            (#"{"a":["b"]}"#, #"{"a":"c"}"#, #"{"a":"c"}"#), (#"{"a":"c"}"#, #"{"a":["b"]}"#, #"{"a":["b"]}"#),
            (#"{"a":{"b":"c"}}"#, #"{"a":{"b":"d","c":null}}"#, #"{"a":{"b":"d"}}"#),
            (#"{"a":[{"b":"c"}]}"#, #"{"a":[1]}"#, #"{"a":[1]}"#), (#"["a","b"]"#, #"["c","d"]"#, #"["c","d"]"#),
            (#"{"a":"b"}"#, #"["c"]"#, #"["c"]"#), (#"{"a":"foo"}"#, "null", "null"),
            (#"{"a":"foo"}"#, #""bar""#, #""bar""#),
            (#"{"e":null}"#, #"{"a":1}"#, #"{"e":null,"a":1}"#), ("[1,2]", #"{"a":"b","c":null}"#, #"{"a":"b"}"#),
            ("{}", #"{"a":{"bb":{"ccc":null}}}"#, #"{"a":{"bb":{}}}"#),
        ])
    func examples(target: String, patch: String, expected: String) throws {
        #expect(try MergePatch(json(patch)).applied(to: json(target)).text == expected)
    }

    @Test("The example of a document gives its result (RFC 7396 §3)")
    func document() throws {
        let target = #"""
            {"title":"Goodbye!","author":{"givenName":"John","familyName":"Doe"},"tags":["example","sample"],
            "content":"This will be unchanged"}
            """#
        let patch =
            #"{"title":"Hello!","phoneNumber":"+01-123-456-7890","author":{"familyName":null},"tags":["example"]}"#
        let expected = #"""
            {"title":"Hello!","author":{"givenName":"John"},"tags":["example"],"content":"This will be unchanged",
            "phoneNumber":"+01-123-456-7890"}
            """#
        #expect(try MergePatch(json(patch)).applied(to: json(target)) == json(expected))
    }

    @Test("A patch without a target extends an empty object")
    func noTarget() throws {
        #expect(try MergePatch(json(#"{"a":1.0,"b":null}"#)).applied(to: nil).text == #"{"a":1.0}"#)
        #expect(try MergePatch(json("[null]")).applied(to: nil).text == "[null]")
    }

    @Test("Members keep their place, names their bytes, and numbers their text")
    func texts() throws {
        let target: JSON = .object([
            JSON.Member("z", .number("1.0")), JSON.Member("\u{E9}", 1), JSON.Member("e\u{301}", 2),
        ])
        let patch: JSON = .object([
            JSON.Member("n", 3), JSON.Member("e\u{301}", .null), JSON.Member("z", .number("10e-1")),
        ])
        #expect(try MergePatch(patch).applied(to: target).utf8 == bytes("{\"z\":10e-1,\"\u{E9}\":1,\"n\":3}"))
    }

    @Test("A patch beyond the limit of depth is refused with the pointer to the deep value")
    func depth() throws {
        let patch = try json(#"{"a":{},"b":{"c":[]}}"#)
        #expect(try MergePatch(patch, depthLimit: 3).json == patch)
        let error = try #require(throws: InvalidEdit.self) { try MergePatch(patch, depthLimit: 2) }
        #expect(error.pointer == ["b", "c"])
        #expect(error.description == "/b/c of the patch: the patch is nested deeper than 2 levels")
    }
}
