import JSONEdits
import Primitives
import Testing

@Suite("The comparison of three versions of JSON")
struct ThreeWayComparisonTests {
    private func rows(_ base: MergeBase<JSON>, _ ours: String?, _ theirs: String?) throws -> [String] {
        let comparison = ThreeWayComparison(base: base, ours: try ours.map(json), theirs: try theirs.map(json))
        #expect(comparison.more == 0)
        return comparison.rows.map { row in
            let values = [row.base, row.ours, row.theirs].map { $0?.text ?? "-" }
            return ([row.pointer.description, row.verdict.rawValue] + values).joined(separator: " ")
        }
    }

    @Test("Each member that differs has a row with its place, its verdict and its three values")
    func verdicts() throws {
        let base = #"{"a": 1, "b": {"x": 1, "y": 1}, "c": [1], "d": 1, "e": 1, "n": 1.0, "same": {"z": null}}"#
        let ours = #"{"a": 2, "b": {"x": 2, "y": 1}, "c": [1, 2], "d": 2, "n": 1, "new": true, "same": {"z": null}}"#
        let theirs = #"{"same": {"z": null}, "b": {"x": 1, "y": 3}, "c": [1, 3], "a": 1, "d": 2.0, "n": 1.0}"#
        #expect(
            try rows(.value(try json(base)), ours, theirs) == [
                "/b/x ours 1 2 1", "/b/y theirs 1 1 3", "/c clash [1] [1,2] [1,3]", "/a ours 1 2 1",
                "/d both 1 2 2.0", "/new ours - true -", "/e both 1 - -",
            ])
    }

    @Test("A document that one side lacks, or that is no object, is compared as a whole")
    func wholes() throws {
        #expect(try rows(.value(try json(#"{"a":1}"#)), nil, #"{"a":2}"#) == [#" clash {"a":1} - {"a":2}"#])
        #expect(try rows(.value(try json(#"{"a":1}"#)), #"{"a":2}"#, nil) == [#" clash {"a":1} {"a":2} -"#])
        #expect(try rows(.value(try json("[1]")), "[1.0]", "[2]") == [" theirs [1] [1.0] [2]"])
        #expect(try rows(.value(try json("[1]")), #"{"a":1}"#, #"{"a":1}"#) == [#" both [1] {"a":1} {"a":1}"#])
        #expect(try rows(.missing, "1", "1") == [" both - 1 1"])
        #expect(try rows(.missing, nil, nil) == [])
    }

    @Test("Without a known base, only the values that differ between the sides have rows")
    func unknownBase() throws {
        let found = try rows(.unknown, #"{"a":1,"b":1,"c":1}"#, #"{"a":1,"b":2}"#)
        #expect(found == ["/b clash - 1 2", "/c clash - 1 -"])
        let new = try rows(.missing, #"{"a":1,"b":1}"#, #"{"a":1,"c":2}"#)
        #expect(new == ["/a both - 1 1", "/c theirs - - 2", "/b ours - 1 -"])
    }

    @Test("The list of rows has a limit, and the others are counted")
    func limit() throws {
        let members = (0..<50).map { JSON.Member("\($0)", 1) }
        let comparison = ThreeWayComparison(base: .missing, ours: .object(members), theirs: .object([]), limit: 20)
        #expect(comparison.rows.count == 20 && comparison.more == 30)
    }

    @Test("The rows with the verdict clash are the clashes of the merge", arguments: 1...UInt64(8))
    func clashes(seed: UInt64) throws {
        var documents = RandomDocuments(seed: seed)
        var count = 0
        for round in 0..<150 {
            let base = documents.object()
            let (ours, theirs) = (documents.edited(base), documents.edited(base))
            for base in [.value(base), .missing, .unknown] as [MergeBase<JSON>] {
                let rows = ThreeWayComparison(base: base, ours: ours, theirs: theirs).rows
                let found = rows.filter { $0.verdict == .clash }.map {
                    ThreeWayMerge.Clash(pointer: $0.pointer, base: $0.base, ours: $0.ours, theirs: $0.theirs)
                }
                var expected: [ThreeWayMerge.Clash] = []
                if case .clash(let clashes) = ThreeWayMerge.merge(base: base, ours: ours, theirs: theirs) {
                    expected = clashes.list
                }
                #expect(found == expected, "seed \(seed), round \(round)")
                count += found.count
            }
        }
        #expect(count > 100, "the documents of seed \(seed) hardly clash")
    }
}
