/// Which bytes of a representation there are, when there need not be all (RFC 9111 §3.4).
public struct ByteCoverage: Hashable, Sendable {
    /// The bytes that there are: ranges in ascending order, none empty, none touching another.
    public private(set) var ranges: [Range<Int64>] = []

    /// Nothing.
    public init() {}

    /// What some ranges cover together, in whatever order they come and however they overlap.
    public init(_ ranges: some Sequence<Range<Int64>>) {
        for range in ranges { insert(range) }
    }

    /// How many bytes there are.
    public var count: Int64 {
        ranges.reduce(0) { $0 + $1.upperBound - $1.lowerBound }
    }

    /// Adds the bytes of a range. An empty one adds nothing.
    public mutating func insert(_ range: Range<Int64>) {
        guard !range.isEmpty else { return }
        let first = ranges.firstIndex { $0.upperBound >= range.lowerBound } ?? ranges.endIndex
        let end = ranges[first...].firstIndex { $0.lowerBound > range.upperBound } ?? ranges.endIndex
        let touched = ranges[first..<end]
        let lower = min(touched.first?.lowerBound ?? range.lowerBound, range.lowerBound)
        let upper = max(touched.last?.upperBound ?? range.upperBound, range.upperBound)
        ranges.replaceSubrange(first..<end, with: [lower..<upper])
    }

    /// Whether every byte of a range is there. Of an empty one nothing can be missing.
    public func contains(_ range: Range<Int64>) -> Bool {
        range.isEmpty || ranges.contains { $0.lowerBound <= range.lowerBound && range.upperBound <= $0.upperBound }
    }

    /// The bytes of a range that are not there: ranges in ascending order, none empty, none touching another.
    public func missing(in range: Range<Int64>) -> [Range<Int64>] {
        var missing: [Range<Int64>] = []
        var position = range.lowerBound
        for present in ranges where present.overlaps(range) {
            if position < present.lowerBound { missing.append(position..<present.lowerBound) }
            position = present.upperBound
        }
        if position < range.upperBound { missing.append(position..<range.upperBound) }
        return missing
    }

    /// Whether all of a representation of that length is there.
    public func isComplete(length: Int64) -> Bool {
        contains(0..<length)
    }
}
