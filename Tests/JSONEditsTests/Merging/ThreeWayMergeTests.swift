import JSONEdits
import Primitives
import Testing

@Suite("Three-way merge of JSON")
struct ThreeWayMergeTests {
    @Test(
        "Changes of different values are merged",
        arguments: [
            // base, ours, theirs, expected
            ("1", "2", "1", "2"), ("1", "1", "2", "2"), ("1", "2", "2", "2"),
            (#"{"a":1}"#, #"{"a":1,"b":2}"#, #"{"a":3}"#, #"{"a":3,"b":2}"#),
            (#"{"a":1,"b":2}"#, #"{"b":2}"#, #"{"a":1,"b":3}"#, #"{"b":3}"#),
            (#"{"a":1,"b":2}"#, "{}", #"{"a":1,"b":2,"c":3}"#, #"{"c":3}"#),
            (#"{"a":{"x":1,"y":1}}"#, #"{"a":{"x":2,"y":1}}"#, #"{"a":{"x":1,"y":2}}"#, #"{"a":{"x":2,"y":2}}"#),
            (#"{"a":[1,2]}"#, #"{"a":[1,2,3]}"#, #"{"a":[1,2]}"#, #"{"a":[1,2,3]}"#),
            // A missing member differs from null.
            (#"{"a":null,"b":1}"#, #"{"b":1}"#, #"{"a":null,"b":2}"#, #"{"b":2}"#),
            (#"{"b":1}"#, #"{"a":null,"b":1}"#, #"{"b":2}"#, #"{"b":2,"a":null}"#),
            // Both sides removed, or added, the same member.
            (#"{"a":1,"b":1}"#, #"{"b":2}"#, #"{"b":1}"#, #"{"b":2}"#),
            ("{}", #"{"a":[1]}"#, #"{"a":[1.0]}"#, #"{"a":[1.0]}"#),
            // Both sides added an object under a name that the base does not have.
            ("{}", #"{"m":{"a":1}}"#, #"{"m":{"b":2}}"#, #"{"m":{"b":2,"a":1}}"#),
            // The types change.
            (#"{"a":{"x":1}}"#, #"{"a":[1]}"#, #"{"a":{"x":1}}"#, #"{"a":[1]}"#),
            ("[]", #"{"a":1}"#, "[]", #"{"a":1}"#),
        ])
    func merged(base: String, ours: String, theirs: String, expected: String) throws {
        let outcome = ThreeWayMerge.merge(base: .value(try json(base)), ours: try json(ours), theirs: try json(theirs))
        #expect(try merged(outcome).value?.text == expected)
    }

    @Test(
        "Equal numbers keep the text of theirs",
        arguments: [
            (#"{"n":1,"m":5}"#, #"{"n":1.0,"m":6}"#, #"{"n":10e-1,"m":5}"#, #"{"n":10e-1,"m":6}"#),
            (#"{"n":1e400,"m":5}"#, #"{"n":10e399,"m":6}"#, #"{"n":1E400,"m":5.0}"#, #"{"n":1E400,"m":6}"#),
            (#"{"n":1}"#, #"{"n":2.0}"#, #"{"n":2}"#, #"{"n":2}"#),
        ])
    func texts(base: String, ours: String, theirs: String, expected: String) throws {
        let outcome = ThreeWayMerge.merge(base: .value(try json(base)), ours: try json(ours), theirs: try json(theirs))
        #expect(try merged(outcome).value?.text == expected)
    }

    @Test("The order is that of theirs, and new members of ours follow in their order")
    func order() throws {
        let outcome = ThreeWayMerge.merge(
            base: .value(try json(#"{"a":1,"b":2,"c":3}"#)), ours: try json(#"{"z":9,"c":3,"b":2,"y":8,"a":0}"#),
            theirs: try json(#"{"c":3,"n":7,"a":1,"b":2}"#))
        #expect(try merged(outcome).value?.text == #"{"c":3,"n":7,"a":0,"b":2,"z":9,"y":8}"#)
    }

    @Test("A merge says whether its result equals ours or theirs")
    func equalSides() throws {
        func outcome(_ base: String, _ ours: String, _ theirs: String) throws -> ThreeWayMerge.Merged {
            try merged(ThreeWayMerge.merge(base: .value(json(base)), ours: json(ours), theirs: json(theirs)))
        }
        let same = try outcome(#"{"a":1,"b":2}"#, #"{"b":2,"a":5.0}"#, #"{"a":5,"b":2.0}"#)
        #expect(same.equalsOurs && same.equalsTheirs && same.value?.text == #"{"a":5,"b":2.0}"#)
        let theirs = try outcome(#"{"a":1,"b":2}"#, #"{"a":1.0,"b":2}"#, #"{"a":1,"b":3}"#)
        #expect(!theirs.equalsOurs && theirs.equalsTheirs)
        let ours = try outcome(#"{"a":1,"b":2}"#, #"{"b":3}"#, #"{"b":2,"a":1}"#)
        #expect(ours.equalsOurs && !ours.equalsTheirs)
        let neither = try outcome(#"{"a":1,"b":2}"#, #"{"a":2,"b":2}"#, #"{"a":1,"b":3}"#)
        #expect(!neither.equalsOurs && !neither.equalsTheirs)
    }

    @Test("Different changes of one value clash, with its place and its three values")
    func clash() throws {
        let outcome = ThreeWayMerge.merge(
            base: .value(try json(#"{"a":1,"b":{"x":[1],"y":0},"gone":{"q":1},"same":1}"#)),
            ours: try json(#"{"a":2,"b":{"x":[2],"y":0,"new~":1},"same":2}"#),
            theirs: try json(#"{"gone":{"q":2},"b":{"new~":null,"y":7},"a":1e0,"same":2}"#))
        #expect(
            outcome
                == .clash(
                    .init(list: [
                        .init(pointer: ["gone"], base: try json(#"{"q":1}"#), ours: nil, theirs: try json(#"{"q":2}"#)),
                        .init(pointer: ["b", "new~"], base: nil, ours: 1, theirs: .null),
                        .init(pointer: ["b", "x"], base: [1], ours: [2], theirs: nil),
                    ])))
    }

    @Test(
        "Values that cannot be merged member by member clash as a whole",
        arguments: [
            ("[1]", "[1,2]", "[1,3]"), ("1", "2", "3"), ("1", #"{"a":1}"#, #"{"b":1}"#),
            (#"{"a":1}"#, "[]", #"{"a":2}"#),
            (#"{"a":1}"#, "null", "false"), ("9007199254740992", "9007199254740993", "9007199254740994"),
        ])
    func wholes(base: String, ours: String, theirs: String) throws {
        let (base, ours, theirs) = (try json(base), try json(ours), try json(theirs))
        let clash = ThreeWayMerge.Clash(pointer: .root, base: base, ours: ours, theirs: theirs)
        #expect(ThreeWayMerge.merge(base: .value(base), ours: ours, theirs: theirs) == .clash(.init(list: [clash])))
    }

    @Test("A deletion wins over an unchanged document, and clashes with a change")
    func deletions() throws {
        let (base, changed) = (try json(#"{"a":1}"#), try json(#"{"a":2}"#))
        #expect(
            ThreeWayMerge.merge(base: .value(base), ours: nil, theirs: base)
                == .merged(.init(value: nil, equalsOurs: true, equalsTheirs: false)))
        #expect(
            ThreeWayMerge.merge(base: .value(base), ours: base, theirs: nil)
                == .merged(.init(value: nil, equalsOurs: false, equalsTheirs: true)))
        #expect(
            ThreeWayMerge.merge(base: .value(base), ours: nil, theirs: nil)
                == .merged(.init(value: nil, equalsOurs: true, equalsTheirs: true)))
        for (ours, theirs) in [(changed, nil), (nil, changed)] {
            let clash = ThreeWayMerge.Clash(pointer: .root, base: base, ours: ours, theirs: theirs)
            #expect(ThreeWayMerge.merge(base: .value(base), ours: ours, theirs: theirs) == .clash(.init(list: [clash])))
        }
    }

    @Test("Two documents that were created where none was are merged member by member")
    func missingBase() throws {
        let (ours, theirs) = (try json(#"{"a":1,"m":{"x":1}}"#), try json(#"{"b":2,"m":{"y":2}}"#))
        let outcome = ThreeWayMerge.merge(base: .missing, ours: ours, theirs: theirs)
        #expect(try merged(outcome).value?.text == #"{"b":2,"m":{"y":2,"x":1},"a":1}"#)
        #expect(try merged(ThreeWayMerge.merge(base: .missing, ours: ours, theirs: nil)).value == ours)
    }

    @Test("With an unknown base, a member of only one side clashes, because it may be new or removed")
    func unknownBase() throws {
        let (ours, theirs) = (try json(#"{"a":1,"c":{"x":1}}"#), try json(#"{"c":{"x":1.0,"y":2},"a":1e0}"#))
        let clash = ThreeWayMerge.Clash(pointer: ["c", "y"], base: nil, ours: nil, theirs: 2)
        #expect(ThreeWayMerge.merge(base: .unknown, ours: ours, theirs: theirs) == .clash(.init(list: [clash])))
        let equal = try json(#"{"c":{"x":1e0},"a":1.0}"#)
        #expect(
            ThreeWayMerge.merge(base: .unknown, ours: ours, theirs: equal)
                == .merged(.init(value: equal, equalsOurs: true, equalsTheirs: true)))
        for (ours, theirs) in [(ours, nil), (nil, theirs)] {
            let clash = ThreeWayMerge.Clash(pointer: .root, base: nil, ours: ours, theirs: theirs)
            #expect(ThreeWayMerge.merge(base: .unknown, ours: ours, theirs: theirs) == .clash(.init(list: [clash])))
        }
    }

    @Test("Clashes beyond the limit are counted")
    func clashLimit() throws {
        func document(_ value: Int) -> JSON { .object((0..<10).map { JSON.Member("m\($0)", .number(value)) }) }
        guard
            case .clash(let clashes) = ThreeWayMerge.merge(
                base: .value(document(1)), ours: document(2), theirs: document(3), clashLimit: 4)
        else {
            Issue.record("the merge must clash")
            return
        }
        #expect(clashes.list.map(\.pointer) == [["m0"], ["m1"], ["m2"], ["m3"]])
        #expect(clashes.more == 6)
        let none = ThreeWayMerge.merge(base: .value(1), ours: 2, theirs: 3, clashLimit: 0)
        #expect(none == .clash(.init(list: [], more: 1)))
    }

    private func merged(_ outcome: ThreeWayMerge.Outcome) throws -> ThreeWayMerge.Merged {
        guard case .merged(let merged) = outcome else {
            Issue.record("\(outcome)")
            throw CancellationError()
        }
        return merged
    }
}
