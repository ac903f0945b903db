import JSONEdits
import Primitives
import Testing

@Suite("Differences of JSON documents")
struct JSONDifferenceTests {
    @Test("A difference lists each changed, removed and new member with its values")
    func changes() throws {
        let difference = JSONDifference(
            from: try json(#"{"same":1,"changed":1,"gone":null,"deep":{"a/b":[1,2],"same":{}},"typed":{"x":1}}"#),
            to: try json(#"{"new":{"y":1},"deep":{"same":{},"a/b":[1,3]},"changed":2,"same":1.0,"typed":[]}"#))
        #expect(
            difference.changes == [
                .init(pointer: ["changed"], before: 1, after: 2), .init(pointer: ["gone"], before: .null, after: nil),
                .init(pointer: ["deep", "a/b"], before: [1, 2], after: [1, 3]),
                .init(pointer: ["typed"], before: try json(#"{"x":1}"#), after: []),
                .init(pointer: ["new"], before: nil, after: try json(#"{"y":1}"#)),
            ])
        #expect(
            difference.mergePatch?.json.text
                == #"{"changed":2,"gone":null,"deep":{"a/b":[1,3]},"typed":[],"new":{"y":1}}"#)
    }

    @Test(
        "The merge patch of a difference leads to the later document",
        arguments: [
            // from, to, patch
            (#"{"a":1}"#, #"{"a":1.0}"#, "{}"), ("[1]", "[1.0]", "[1.0]"), ("1", "{}", "{}"),
            (#"{"a":1}"#, "null", "null"),
            ("null", "null", "null"), (#"{"a":5}"#, #"{"a":{}}"#, #"{"a":{}}"#),
            (#"{"a":{"b":1}}"#, #"{"a":{}}"#, #"{"a":{"b":null}}"#),
            (#"{"a":null}"#, #"{"a":null,"b":1}"#, #"{"b":1}"#),
            (#"{"a":1}"#, #"{"a":[null,{"b":null}]}"#, #"{"a":[null,{"b":null}]}"#),
            (#"{"m":{"x":null}}"#, #"{"m":{"x":null,"y":1}}"#, #"{"m":{"y":1}}"#),
        ])
    func mergePatch(from: String, to: String, expected: String) throws {
        let (from, to) = (try json(from), try json(to))
        let patch = try #require(JSONDifference(from: from, to: to).mergePatch)
        #expect(patch.json.text == expected)
        #expect(patch.applied(to: from).isEquivalent(to: to))
    }

    @Test(
        "A member that becomes null has no merge patch (RFC 7396 §1)",
        arguments: [
            (#"{"a":1}"#, #"{"a":null}"#), ("{}", #"{"a":null}"#), ("[]", #"{"a":null}"#),
            (#"{"a":1}"#, #"{"a":{"b":{"c":null}}}"#),
            (#"{"a":{"b":1}}"#, #"{"a":{"b":null}}"#),
        ])
    func noMergePatch(from: String, to: String) throws {
        let difference = JSONDifference(from: try json(from), to: try json(to))
        #expect(difference.mergePatch == nil)
        #expect(difference.changes.count == 1)
    }

    @Test("Changes beyond the limit are counted, and the merge patch has all of them")
    func limit() throws {
        let after = JSON.object((0..<10).map { JSON.Member("m\($0)", .number($0)) })
        let difference = JSONDifference(from: .object([]), to: after, limit: 3)
        #expect(difference.changes.map(\.pointer) == [["m0"], ["m1"], ["m2"]])
        #expect(difference.more == 7)
        #expect(difference.mergePatch?.json == after)
        #expect(!difference.isEmpty && JSONDifference(from: after, to: after).isEmpty)
    }

    @Test("Several changes of one document are squashed to the difference of its base and its last version")
    func squash() throws {
        let base = try json(#"{"title":"a","tags":["x"],"note":"n"}"#)
        let edits = [#"{"title":"b"}"#, #"{"note":null,"due":1}"#, #"{"title":"a","due":2}"#]
        let versions = try edits.reduce(into: [base]) { versions, edit in
            versions.append(try MergePatch(json(edit)).applied(to: versions.last))
        }
        let difference = JSONDifference(from: base, to: versions[3])
        #expect(difference.mergePatch?.json.text == #"{"note":null,"due":2}"#)
    }
}
