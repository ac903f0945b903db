import JSONEdits
import Primitives
import Testing

@Suite("Errors and limits of JSON Patch")
struct JSONPatchErrorTests {
    @Test(
        "A faulty patch is refused with the pointer to the faulty member and the reason",
        arguments: [
            ("{}", "", "expected an array of operations, got an object"),
            ("[1]", "/0", "expected an operation as an object, got a number"),
            (#"[{"path":""}]"#, "/0", #"the operation has no member "op""#),
            (#"[{"op":null,"path":""}]"#, "/0/op", "expected a string, got null"),
            (#"[{"op":"Add","path":"","value":1}]"#, "/0/op", "unknown operation"),
            (
                #"[{"op":"test","path":"","value":1},{"op":"add","value":1}]"#, "/1",
                #"the operation has no member "path""#
            ),
            (#"[{"op":"add","path":"a","value":1}]"#, "/0/path", "a JSON pointer is empty or begins with /"),
            (#"[{"op":"add","path":"/~x","value":1}]"#, "/0/path", "0 or 1 must follow each ~"),
            (#"[{"op":"add","path":["a"],"value":1}]"#, "/0/path", "expected a string, got an array"),
            (#"[{"op":"add","path":"/a"}]"#, "/0", #"the operation has no member "value""#),
            (#"[{"op":"copy","path":"/a"}]"#, "/0", #"the operation has no member "from""#),
            (#"[{"op":"move","path":"/a","from":1}]"#, "/0/from", "expected a string, got a number"),
            (#"[{"op":"move","path":"/a/b","from":"/a"}]"#, "/0/path", "a value cannot move into itself"),
            (#"[{"op":"move","path":"/a","from":""}]"#, "/0/path", "a value cannot move into itself"),
        ])
    func faulty(patch: String, pointer: String, reason: String) throws {
        let patch = try json(patch)
        let error = try #require(throws: InvalidEdit.self) { try JSONPatch(patch) }
        #expect(error.pointer.description == pointer)
        #expect(error.reason.contains(reason), "\(error.reason)")
    }

    @Test(
        "A failed operation is reported with its index, the place and the reason",
        arguments: [
            (#"[{"op":"remove","path":"/x"}]"#, 0, "/x", "the object has no member of this name"),
            (
                #"[{"op":"test","path":"/a","value":[1]},{"op":"add","path":"/b/c/d","value":1}]"#, 1, "/b/c",
                "the object has no member of this name"
            ),
            (
                #"[{"op":"replace","path":"/a/1","value":1}]"#, 0, "/a/1",
                "the index is out of range; the array has 1 elements"
            ),
            (
                #"[{"op":"add","path":"/a/2","value":1}]"#, 0, "/a/2",
                "the index is out of range; the array has 1 elements"
            ),
            (#"[{"op":"add","path":"/a/-/x","value":1}]"#, 0, "/a/-", "- means the place behind the last element"),
            (#"[{"op":"remove","path":"/a/x"}]"#, 0, "/a/x", "consists of digits without a leading zero"),
            (#"[{"op":"copy","from":"/a/0/x","path":"/y"}]"#, 0, "/a/0/x", "the parent is a number"),
            (#"[{"op":"add","path":"/a/0/x","value":1}]"#, 0, "/a/0/x", "the parent is a number"),
            (#"[{"op":"remove","path":""}]"#, 0, "", "the whole document cannot be removed"),
            (#"[{"op":"test","path":"/a","value":[2]}]"#, 0, "/a", "the value differs from the value of the test"),
        ])
    func failed(patch: String, index: Int, pointer: String, reason: String) throws {
        let patch = try JSONPatch(json(patch))
        let document = try json(#"{"a":[1],"b":{}}"#)
        let error = try #require(throws: JSONPatch.Failure.self) { try patch.applied(to: document) }
        #expect(error.operation == index)
        #expect(error.pointer.description == pointer)
        #expect(error.reason.contains(reason), "\(error.reason)")
    }

    @Test("A patch with more operations than allowed is refused")
    func operationCount() throws {
        var limits = JSONPatch.Limits()
        limits.operations = 2
        let operation = #"{"op":"test","path":"","value":1}"#
        #expect(try JSONPatch(json("[\(operation),\(operation)]"), limits: limits).operations.count == 2)
        let patch = try json("[\(operation),\(operation),\(operation)]")
        #expect(throws: InvalidEdit.self) { try JSONPatch(patch, limits: limits) }
    }

    @Test("A chain of copies that doubles the document each time ends at the limit of bytes")
    func copies() throws {
        let operations = (0..<100).map { JSONPatch.Operation.copy(from: [], to: ["c\($0)"]) }
        let error = try #require(throws: JSONPatch.Failure.self) {
            try JSONPatch(operations).applied(to: json(#"{"a":"0123456789"}"#))
        }
        #expect(error.operation.map { (15...25).contains($0) } == true)
        #expect(error.reason == "the patch copies more than 16777216 bytes")
    }

    @Test("Copies count even when later operations remove them")
    func removedCopies() throws {
        var limits = JSONPatch.Limits()
        limits.bytes = 100
        let document = try json(#"{"a":"012345678901234567890123456789"}"#)
        let pair: [JSONPatch.Operation] = [.copy(from: ["a"], to: ["b"]), .remove(["b"])]
        // The copied string has 32 bytes with its quotes.
        #expect(try JSONPatch(pair + pair + pair).applied(to: document, limits: limits) == document)
        let error = try #require(throws: JSONPatch.Failure.self) {
            try JSONPatch(pair + pair + pair + pair).applied(to: document, limits: limits)
        }
        #expect(error.operation == 6)
        #expect(error.pointer == ["a"])
    }

    @Test("A document grows up to the limit of bytes exactly, and a document beyond the limit may shrink")
    func growth() throws {
        var limits = JSONPatch.Limits()
        limits.bytes = 26
        let document = try json(#"{"a":"\n\u0001\"x"}"#)
        #expect(document.utf8.count == 19)
        let fitting = try JSONPatch([.add(["b"], "")]).applied(to: document, limits: limits)
        #expect(fitting.utf8.count == 26)
        #expect(throws: JSONPatch.Failure.self) {
            try JSONPatch([.add(["b"], "1")]).applied(to: document, limits: limits)
        }
        limits.bytes = 10
        #expect(try JSONPatch([.replace(["a"], 1)]).applied(to: document, limits: limits).text == #"{"a":1}"#)
    }

    @Test("An operation that would nest the document too deeply fails")
    func depth() throws {
        var limits = JSONPatch.Limits()
        limits.depth = 4
        let document = try json("[[[[1]]],[]]")
        let fitting = JSONPatch([.copy(from: ["0", "0"], to: ["1", "-"])])
        #expect(try fitting.applied(to: document, limits: limits).text == "[[[[1]]],[[[1]]]]")
        let error = try #require(throws: JSONPatch.Failure.self) {
            try JSONPatch([.copy(from: ["0"], to: ["1", "-"])]).applied(to: document, limits: limits)
        }
        #expect(error.operation == 0 && error.pointer == ["1", "-"])
        #expect(throws: JSONPatch.Failure.self) {
            try JSONPatch([.replace(["0"], try json("[[[[]]]]"))]).applied(to: document, limits: limits)
        }
        limits.depth = 3
        let tooDeep = try #require(throws: JSONPatch.Failure.self) {
            try JSONPatch([]).applied(to: document, limits: limits)
        }
        #expect(tooDeep.operation == nil && tooDeep.pointer == ["0", "0", "0"])
        let patch = try json(#"[{"op":"add","path":"","value":{"a":[[[]]]}}]"#)
        let invalid = try #require(throws: InvalidEdit.self) { try JSONPatch(patch, limits: limits) }
        #expect(invalid.pointer.description == "/0/value/a/0/0")
    }

    @Test("Insertions at the beginning of a large array end at the limit of steps")
    func steps() throws {
        var limits = JSONPatch.Limits()
        limits.steps = 2500
        let document = JSON.array(Array(repeating: 0, count: 1000))
        let patch = JSONPatch(Array(repeating: .add(["0"], 1), count: 3))
        let error = try #require(throws: JSONPatch.Failure.self) { try patch.applied(to: document, limits: limits) }
        #expect(error.operation == 2)
        let appending = JSONPatch(Array(repeating: .add(["-"], 1), count: 1000))
        #expect(try appending.applied(to: document, limits: limits).arrayValue?.count == 2000)
    }

    @Test("By default, a patch of 10 kB cannot shift the elements of a large array for half a second")
    func defaultSteps() throws {
        let document = JSON.array(Array(repeating: 0, count: 100_000))
        let patch = JSONPatch(Array(repeating: .add(["0"], 1), count: 400))
        let error = try #require(throws: JSONPatch.Failure.self) { try patch.applied(to: document) }
        #expect(error.operation ?? 0 > 300)
        let short = JSONPatch(Array(repeating: .add(["0"], 1), count: 300))
        #expect(try short.applied(to: document).arrayValue?.count == 100_300)
    }

    @Test("Comparisons of long numbers with another spelling end at the limit of steps")
    func numbers() throws {
        var limits = JSONPatch.Limits()
        limits.steps = 25_000
        let document = JSON.number("1" + String(repeating: "0", count: 10_000))
        let patch = JSONPatch(Array(repeating: .test([], .number("1e10000")), count: 3))
        let error = try #require(throws: JSONPatch.Failure.self) { try patch.applied(to: document, limits: limits) }
        #expect(error.operation == 2)
    }
}
