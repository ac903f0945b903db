import Testing

@testable import HTTPCaching

@Suite("Byte coverage")
struct ByteCoverageTests {
    @Test(
        "Ranges that overlap or touch are merged",
        arguments: [
            ([], []),
            ([5..<5], []),
            ([5..<8], [5..<8]),
            ([5..<8, 0..<2], [0..<2, 5..<8]),
            ([0..<2, 5..<8], [0..<2, 5..<8]),
            ([0..<5, 5..<8], [0..<8]),
            ([5..<8, 0..<5], [0..<8]),
            ([0..<6, 5..<8], [0..<8]),
            ([0..<8, 2..<4], [0..<8]),
            ([2..<4, 0..<8], [0..<8]),
            ([0..<2, 4..<6, 8..<10, 1..<9], [0..<10]),
            ([0..<2, 4..<6, 8..<10, 2..<8], [0..<10]),
            ([0..<2, 4..<6, 8..<10, 3..<7], [0..<2, 3..<7, 8..<10]),
            ([0..<2, 4..<6, 6..<6], [0..<2, 4..<6]),
            ([0..<Int64.max, 5..<8], [0..<Int64.max]),
        ] as [([Range<Int64>], [Range<Int64>])])
    func insert(ranges: [Range<Int64>], expected: [Range<Int64>]) {
        #expect(ByteCoverage(ranges).ranges == expected)
    }

    @Test("A coverage contains a range when it has all bytes of the range")
    func contains() {
        let coverage = ByteCoverage([2..<4, 6..<8])
        #expect(coverage.contains(2..<4))
        #expect(coverage.contains(3..<3))
        #expect(!coverage.contains(2..<5))
        #expect(!coverage.contains(3..<7))
        #expect(!coverage.contains(0..<1))
        #expect(!ByteCoverage().contains(0..<3))
    }

    @Test("A coverage is complete when no byte of the length is missing (RFC 9111 §3.4)")
    func complete() {
        #expect(ByteCoverage([0..<5, 5..<10]).isComplete(length: 10))
        #expect(!ByteCoverage([0..<5, 6..<10]).isComplete(length: 10))
        #expect(!ByteCoverage([0..<9]).isComplete(length: 10))
        #expect(!ByteCoverage().isComplete(length: 1))
        #expect(ByteCoverage().isComplete(length: 0))
    }

    @Test("After random insertions, a coverage contains the same bytes as a set of byte positions")
    func property() {
        for _ in 0..<1_000 {
            var coverage = ByteCoverage()
            var bytes = Set<Int64>()
            for _ in 0..<Int.random(in: 0...8) {
                let lower = Int64.random(in: 0..<30)
                let range = lower..<lower + Int64.random(in: 0...8)
                coverage.insert(range)
                bytes.formUnion(range)
                #expect(coverage.ranges.allSatisfy { !$0.isEmpty })
                #expect(zip(coverage.ranges, coverage.ranges.dropFirst()).allSatisfy { $0.upperBound < $1.lowerBound })
                #expect(Set(coverage.ranges.flatMap { $0 }) == bytes)
            }
            let lower = Int64.random(in: 0..<40)
            let asked = lower..<lower + Int64.random(in: 0...10)
            #expect(coverage.contains(asked) == asked.allSatisfy(bytes.contains))
        }
    }
}
