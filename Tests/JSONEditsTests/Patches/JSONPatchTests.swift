import JSONEdits
import Primitives
import Testing

@Suite("JSON Patch")
struct JSONPatchTests {
    struct Example: Sendable, CustomTestStringConvertible {
        var section: String
        var document: String
        var patch: String
        /// `nil` if the patch fails.
        var expected: String?

        init(_ section: String, _ document: String, _ patch: String, _ expected: String?) {
            (self.section, self.document, self.patch, self.expected) = (section, document, patch, expected)
        }

        var testDescription: String { "\(section): \(patch)" }
    }

    @Test(
        "The examples of the RFC give their results (RFC 6902 appendix A)",
        arguments: [
            Example(
                "A.1", #"{"foo":"bar"}"#, #"[{"op":"add","path":"/baz","value":"qux"}]"#, #"{"foo":"bar","baz":"qux"}"#),
            Example(
                "A.2", #"{"foo":["bar","baz"]}"#, #"[{"op":"add","path":"/foo/1","value":"qux"}]"#,
                #"{"foo":["bar","qux","baz"]}"#),
            Example("A.3", #"{"baz":"qux","foo":"bar"}"#, #"[{"op":"remove","path":"/baz"}]"#, #"{"foo":"bar"}"#),
            Example(
                "A.4", #"{"foo":["bar","qux","baz"]}"#, #"[{"op":"remove","path":"/foo/1"}]"#, #"{"foo":["bar","baz"]}"#
            ),
            Example(
                "A.5", #"{"baz":"qux","foo":"bar"}"#, #"[{"op":"replace","path":"/baz","value":"boo"}]"#,
                #"{"baz":"boo","foo":"bar"}"#),
            Example(
                "A.6", #"{"foo":{"bar":"baz","waldo":"fred"},"qux":{"corge":"grault"}}"#,
                #"[{"op":"move","from":"/foo/waldo","path":"/qux/thud"}]"#,
                #"{"foo":{"bar":"baz"},"qux":{"corge":"grault","thud":"fred"}}"#),
            Example(
                "A.7", #"{"foo":["all","grass","cows","eat"]}"#, #"[{"op":"move","from":"/foo/1","path":"/foo/3"}]"#,
                #"{"foo":["all","cows","eat","grass"]}"#),
            Example(
                "A.8", #"{"baz":"qux","foo":["a",2,"c"]}"#,
                #"[{"op":"test","path":"/baz","value":"qux"},{"op":"test","path":"/foo/1","value":2}]"#,
                #"{"baz":"qux","foo":["a",2,"c"]}"#),
            Example("A.9", #"{"baz":"qux"}"#, #"[{"op":"test","path":"/baz","value":"bar"}]"#, nil),
            Example(
                "A.10", #"{"foo":"bar"}"#, #"[{"op":"add","path":"/child","value":{"grandchild":{}}}]"#,
                #"{"foo":"bar","child":{"grandchild":{}}}"#),
            Example(
                "A.11", #"{"foo":"bar"}"#, #"[{"op":"add","path":"/baz","value":"qux","xyz":123}]"#,
                #"{"foo":"bar","baz":"qux"}"#),
            Example("A.12", #"{"foo":"bar"}"#, #"[{"op":"add","path":"/baz/bat","value":"qux"}]"#, nil),
            Example(
                "A.13", #"{"baz":"qux","foo":"bar"}"#, #"[{"op":"add","path":"/baz","value":"qux","op":"remove"}]"#, nil
            ),
            Example("A.14", #"{"/":9,"~1":10}"#, #"[{"op":"test","path":"/~01","value":10}]"#, #"{"/":9,"~1":10}"#),
            Example("A.15", #"{"/":9,"~1":10}"#, #"[{"op":"test","path":"/~01","value":"10"}]"#, nil),
            Example(
                "A.16", #"{"foo":["bar"]}"#, #"[{"op":"add","path":"/foo/-","value":["abc","def"]}]"#,
                #"{"foo":["bar",["abc","def"]]}"#),
        ])
    func examples(example: Example) throws {
        try check(example)
    }

    @Test(
        "Operations have their effect at each kind of place",
        arguments: [
            Example("4.1 root", #"{"a":1}"#, #"[{"op":"add","path":"","value":[1]}]"#, "[1]"),
            Example(
                "4.1 member that exists", #"{"a":1,"b":2}"#, #"[{"op":"add","path":"/a","value":null}]"#,
                #"{"a":null,"b":2}"#),
            Example("4.1 index at the end", "[1,2]", #"[{"op":"add","path":"/2","value":3}]"#, "[1,2,3]"),
            Example("4.1 first index", "[]", #"[{"op":"add","path":"/0","value":3}]"#, "[3]"),
            Example("4.1 index behind the end", "[1,2]", #"[{"op":"add","path":"/3","value":3}]"#, nil),
            Example("4.1 index with a zero", "[1,2]", #"[{"op":"add","path":"/01","value":3}]"#, nil),
            Example("4.1 member of a number", #"{"a":1}"#, #"[{"op":"add","path":"/a/b","value":3}]"#, nil),
            Example("4.2 missing", "{}", #"[{"op":"remove","path":"/a"}]"#, nil),
            Example("4.2 null", #"{"a":null}"#, #"[{"op":"remove","path":"/a"}]"#, "{}"),
            Example("4.2 behind the end", "[1]", #"[{"op":"remove","path":"/-"}]"#, nil),
            Example("4.2 root", "[1]", #"[{"op":"remove","path":""}]"#, nil),
            Example("4.3 missing", "{}", #"[{"op":"replace","path":"/a","value":1}]"#, nil),
            Example("4.3 behind the end", "[1]", #"[{"op":"replace","path":"/1","value":1}]"#, nil),
            Example("4.3 root", "1", #"[{"op":"replace","path":"","value":{"a":2}}]"#, #"{"a":2}"#),
            Example("4.3 element", "[1,2,3]", #"[{"op":"replace","path":"/1","value":[]}]"#, "[1,[],3]"),
            Example("4.4 root", #"{"a":{"b":1}}"#, #"[{"op":"move","from":"/a","path":""}]"#, #"{"b":1}"#),
            Example(
                "4.4 same place", #"{"a":1,"b":2}"#, #"[{"op":"move","from":"/a","path":"/a"}]"#, #"{"a":1,"b":2}"#),
            Example("4.4 same missing place", "{}", #"[{"op":"move","from":"/a","path":"/a"}]"#, nil),
            Example(
                "4.4 to the ancestor", #"{"a":{"b":1}}"#, #"[{"op":"move","from":"/a/b","path":"/a"}]"#, #"{"a":1}"#),
            Example("4.4 index after the removal", "[1,2]", #"[{"op":"move","from":"/0","path":"/2"}]"#, nil),
            Example("4.5 into itself", #"{"a":1}"#, #"[{"op":"copy","from":"","path":"/b"}]"#, #"{"a":1,"b":{"a":1}}"#),
            Example(
                "4.5 independent copies", #"{"a":{"x":1}}"#,
                #"[{"op":"copy","from":"/a","path":"/b"},{"op":"add","path":"/b/x","value":2},{"op":"add","path":"/a/y","value":3}]"#,
                #"{"a":{"x":1,"y":3},"b":{"x":2}}"#),
            Example("4.5 missing", "{}", #"[{"op":"copy","from":"/a","path":"/b"}]"#, nil),
            Example("4.6 spelling of a number", "[1.0]", #"[{"op":"test","path":"","value":[1e0]}]"#, "[1.0]"),
            Example(
                "4.6 large number", "9007199254740993", #"[{"op":"test","path":"","value":9007199254740992}]"#, nil),
            Example(
                "4.6 order of members", #"{"a":1,"b":{"c":[true]}}"#,
                #"[{"op":"test","path":"","value":{"b":{"c":[true]},"a":1}}]"#, #"{"a":1,"b":{"c":[true]}}"#),
            Example("4.6 missing member", #"{"a":1}"#, #"[{"op":"test","path":"","value":{"a":1,"b":null}}]"#, nil),
            Example("4.6 null", #"{"a":null}"#, #"[{"op":"test","path":"/a","value":null}]"#, #"{"a":null}"#),
            Example(
                "5 all or no operation", "[]", #"[{"op":"add","path":"/-","value":1},{"op":"remove","path":"/9"}]"#, nil
            ),
            Example("empty patch", "1.50", "[]", "1.50"),
            Example(
                "member order", #"{"z":1.0,"a":2}"#,
                #"[{"op":"remove","path":"/z"},{"op":"add","path":"/z","value":3}]"#, #"{"a":2,"z":3}"#),
        ])
    func operations(example: Example) throws {
        try check(example)
    }

    @Test("Names that differ only in their normal form are different members")
    func normalForms() throws {
        let document: JSON = .object([JSON.Member("\u{E9}", 1), JSON.Member("e\u{301}", 2)])
        let result = try JSONPatch([.replace(["e\u{301}"], 3), .remove(["\u{E9}"])]).applied(to: document)
        #expect(result.utf8 == bytes("{\"e\u{301}\":3}"))
    }

    @Test("Members of a large object are found, removed and added again")
    func largeObject() throws {
        let count = 1000
        let document = JSON.object((0..<count).map { JSON.Member("m\($0)", .number($0)) })
        var operations: [JSONPatch.Operation] = []
        for index in 0..<count {
            operations.append(.test(["m\(index)"], .number(index)))
            operations.append(.remove(["m\(index)"]))
            if index.isMultiple(of: 2) { operations.append(.add(["m\(index)"], .number(-index))) }
            if index.isMultiple(of: 4) { operations.append(.move(from: ["m\(index)"], to: ["n\(index)"])) }
        }
        let expected = JSON.object(
            stride(from: 0, to: count, by: 2).map {
                JSON.Member($0.isMultiple(of: 4) ? "n\($0)" : "m\($0)", .number(-$0))
            })
        #expect(try JSONPatch(operations).applied(to: document).text == expected.text)
        operations.append(.remove(["m1"]))
        let error = #expect(throws: JSONPatch.Failure.self) { try JSONPatch(operations).applied(to: document) }
        #expect(error?.operation == operations.count - 1)
    }

    private func check(_ example: Example) throws {
        guard let expected = example.expected else {
            #expect(throws: (any Error).self) { try apply(example.patch, to: example.document) }
            return
        }
        #expect(try apply(example.patch, to: example.document) == expected)
    }

    private func apply(_ patch: String, to document: String) throws -> String {
        try JSONPatch(json(patch)).applied(to: json(document)).text
    }
}
