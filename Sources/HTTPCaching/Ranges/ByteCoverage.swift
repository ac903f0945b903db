/// The set of available bytes of a representation that may be incomplete (RFC 9111 §3.4).
package struct ByteCoverage: Hashable, Sendable {
    /// Ascending ranges that are not empty, do not overlap and do not touch.
    package private(set) var ranges: [Range<Int64>] = []

    package init() {}

    /// The ranges may overlap and come in any order.
    package init(_ ranges: some Sequence<Range<Int64>>) {
        for range in ranges { insert(range) }
    }

    package var count: Int64 {
        ranges.reduce(0) { $0 + $1.upperBound - $1.lowerBound }
    }

    /// An empty range has no effect.
    package mutating func insert(_ range: Range<Int64>) {
        guard !range.isEmpty else { return }
        let first = ranges.firstIndex { $0.upperBound >= range.lowerBound } ?? ranges.endIndex
        let end = ranges[first...].firstIndex { $0.lowerBound > range.upperBound } ?? ranges.endIndex
        let touched = ranges[first..<end]
        let lower = min(touched.first?.lowerBound ?? range.lowerBound, range.lowerBound)
        let upper = max(touched.last?.upperBound ?? range.upperBound, range.upperBound)
        ranges.replaceSubrange(first..<end, with: [lower..<upper])
    }

    /// An empty range is always available.
    package func contains(_ range: Range<Int64>) -> Bool {
        range.isEmpty || ranges.contains { $0.lowerBound <= range.lowerBound && range.upperBound <= $0.upperBound }
    }

    package func missing(in range: Range<Int64>) -> [Range<Int64>] {
        var missing: [Range<Int64>] = []
        var position = range.lowerBound
        for present in ranges where present.overlaps(range) {
            if position < present.lowerBound { missing.append(position..<present.lowerBound) }
            position = present.upperBound
        }
        if position < range.upperBound { missing.append(position..<range.upperBound) }
        return missing
    }

    package func isComplete(length: Int64) -> Bool {
        contains(0..<length)
    }
}
