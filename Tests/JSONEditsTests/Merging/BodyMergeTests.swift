import JSONEdits
import Primitives
import Testing

@Suite("Merge of bodies")
struct BodyMergeTests {
    @Test("Equal bytes need no change, whether or not they are JSON")
    func equalBytes() {
        #expect(BodyMerge(base: .value([0xFF]), ours: [0xFE], theirs: [0xFE]) == .theirs)
        #expect(BodyMerge(base: .unknown, ours: [], theirs: []) == .theirs)
        #expect(BodyMerge(base: .value([1]), ours: nil, theirs: nil) == .theirs)
    }

    @Test("One side that is unchanged byte for byte lets the other side win")
    func unchanged() {
        #expect(BodyMerge(base: .value([0xFF]), ours: [0xFF], theirs: [0xFE]) == .theirs)
        #expect(BodyMerge(base: .value([0xFF]), ours: [0xFE], theirs: [0xFF]) == .ours)
        #expect(BodyMerge(base: .value([0xFF]), ours: nil, theirs: [0xFF]) == .ours)
        #expect(BodyMerge(base: .value([0xFF]), ours: [0xFF], theirs: nil) == .theirs)
        #expect(BodyMerge(base: .missing, ours: [1], theirs: nil) == .ours)
        #expect(BodyMerge(base: .missing, ours: nil, theirs: [1]) == .theirs)
    }

    @Test("JSON bodies are merged, and numbers keep their text")
    func json() {
        let merge = BodyMerge(
            base: .value(bytes(#"{"a":1,"b":1}"#)), ours: bytes(#"{"a":2,"b":1}"#),
            theirs: bytes("{\n  \"big\": 9007199254740993,\n  \"a\": 1.0,\n  \"b\": 1e400\n}\n"))
        #expect(merge == .merged(bytes(#"{"big":9007199254740993,"a":2,"b":1e400}"#)))
    }

    @Test("Theirs in another form of the same value is no change: ours goes out byte for byte")
    func reformatted() {
        let (base, ours) = (bytes(#"{"a":1,"b":1}"#), bytes("{ \"a\" : 2, \"b\" : 1 }"))
        #expect(BodyMerge(base: .value(base), ours: ours, theirs: bytes(#"{"b":1.0,"a":1}"#)) == .ours)
        #expect(BodyMerge(base: .value(base), ours: ours, theirs: bytes(#"{"b":1.0,"a":2.0}"#)) == .theirs)
        #expect(
            BodyMerge(base: .value(base), ours: bytes(#"{"b":1,"a":1}"#), theirs: bytes(#"{"a":3,"b":1}"#)) == .theirs)
    }

    @Test("Different changes of one value clash")
    func clash() {
        let merge = BodyMerge(
            base: .value(bytes(#"{"a":1}"#)), ours: bytes(#"{"a":2}"#), theirs: bytes(#"{"a":3}"#))
        #expect(merge == .clash(.init(list: [.init(pointer: ["a"], base: 1, ours: 2, theirs: 3)])))
    }

    @Test("With a preference for ours, theirs keeps its edits that do not clash")
    func preference() {
        func merge(_ base: String, _ ours: String, _ theirs: String) -> BodyMerge {
            BodyMerge(base: .value(bytes(base)), ours: bytes(ours), theirs: bytes(theirs), prefersOurs: true)
        }
        #expect(
            merge(
                #"{"t":0,"p":0,"n":{"x":0,"y":0}}"#, #"{"t":1,"p":0,"n":{"x":1,"y":0}}"#,
                #"{"t":2,"p":2,"n":{"x":2,"y":2}}"#)
                == .merged(bytes(#"{"t":1,"p":2,"n":{"x":1,"y":2}}"#)))
        // Ours has deleted a member, or theirs has.
        #expect(merge(#"{"t":0,"p":0}"#, #"{"p":0}"#, #"{"t":2,"p":2}"#) == .merged(bytes(#"{"p":2}"#)))
        #expect(merge(#"{"t":0,"p":0}"#, #"{"t":1,"p":0}"#, #"{"p":2}"#) == .merged(bytes(#"{"p":2,"t":1}"#)))
        // Arrays and scalars are whole.
        #expect(merge("[0]", "[1]", "[2]") == .ours)
        #expect(merge(#"{"t":0}"#, #"{"t":1}"#, #"{"t":2}"#) == .ours)
        #expect(merge(#"{"t":0}"#, #"{"t":0}"#, #"{"t":2}"#) == .theirs)
        guard case .conflict(.notJSON(.base, _)) = merge("old", #"{"t":1}"#, #"{"t":2}"#) else {
            Issue.record("a body that is no JSON is no conflict")
            return
        }
    }

    @Test("A deletion and a change are in conflict")
    func deletion() {
        #expect(BodyMerge(base: .value([1]), ours: nil, theirs: [2]) == .conflict(.deletedByOurs))
        #expect(BodyMerge(base: .value([1]), ours: [2], theirs: nil) == .conflict(.deletedByTheirs))
        #expect(BodyMerge(base: .unknown, ours: nil, theirs: [2]) == .conflict(.deletedByOurs))
        #expect(BodyMerge(base: .unknown, ours: [2], theirs: nil) == .conflict(.deletedByTheirs))
    }

    @Test(
        "Invalid JSON and repeated names make a conflict of the whole body",
        arguments: [
            (#"{"a":1,"a":2}"#, #"{"a":2}"#, #"{"a":3}"#, BodyMerge.Side.base, "is given twice"),
            (#"{"a":1}"#, #"{"a":1,"b":2,"b":2}"#, #"{"a":3}"#, .ours, "is given twice"),
            (#"{"a":1}"#, #"{"b":2}"#, #"{"a":1,"c":{"x":1,"x":1}}"#, .theirs, "is given twice"),
            (#"{"a":1}"#, #"{"b":2}"#, "<html>", .theirs, "expected a value"),
            (#"{"a":1}"#, "BEGIN:VCARD", #"{"a":3}"#, .ours, "expected a value"),
            ("", #"{"b":2}"#, #"{"a":3}"#, .base, "ends where a value is expected"),
            (#"{"a":1}"#, #"{"b":2}"#, #"{"a":"\ud800"}"#, .theirs, "surrogate"),
        ])
    func notJSON(base: String, ours: String, theirs: String, side: BodyMerge.Side, reason: String) throws {
        let merge = BodyMerge(base: .value(bytes(base)), ours: bytes(ours), theirs: bytes(theirs))
        guard case .conflict(.notJSON(let found, let error)) = merge else {
            Issue.record("\(merge)")
            return
        }
        #expect(found == side)
        #expect(error.reason.contains(reason), "\(error)")
    }

    @Test("Equal sides need no base, so an invalid base makes no conflict of equal values")
    func invalidBase() {
        let merge = BodyMerge(base: .value(bytes("<html>")), ours: bytes(#"{"a":1}"#), theirs: bytes(#"{ "a": 1.0 }"#))
        #expect(merge == .theirs)
    }

    @Test("A body with more values than allowed makes a conflict of the whole body")
    func values() {
        func merge(valueLimit: Int) -> BodyMerge {
            BodyMerge(
                base: .value(bytes(#"{"a":1}"#)), ours: bytes(#"{"a":1,"b":2}"#), theirs: bytes(#"{"a":1,"c":[3,4]}"#),
                valueLimit: valueLimit)
        }
        #expect(merge(valueLimit: 5) == .merged(bytes(#"{"a":1,"c":[3,4],"b":2}"#)))
        guard case .conflict(.notJSON(.theirs, let error)) = merge(valueLimit: 4) else {
            Issue.record("the merge must be in conflict")
            return
        }
        #expect(error.reason == "the text has too many values")
    }

    @Test("Each reason of a conflict has a text for the user")
    func reasons() {
        let merge = BodyMerge(base: .missing, ours: bytes("1"), theirs: bytes("<"))
        guard case .conflict(let reason) = merge else {
            Issue.record("\(merge)")
            return
        }
        #expect(reason.description == "the server's body is not valid JSON, at byte 0: expected a value")
        #expect(BodyMerge.Reason.deletedByTheirs.description.contains("is deleted"))
    }
}
