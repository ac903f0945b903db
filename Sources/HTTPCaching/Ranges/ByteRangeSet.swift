import HTTPTypes

/// The byte ranges in the Range field of a request (RFC 9110 §14.1.2, §14.2).
package struct ByteRangeSet: Hashable, Sendable {
    package enum Specification: Hashable, Sendable {
        /// `first-last`; `first-` reaches to the end of the representation.
        case from(first: Int64, last: Int64?)
        /// `-length`: the *last* `length` bytes.
        case suffix(length: Int64)
    }

    package enum Resolution: Hashable, Sendable {
        /// Answer with 200, as if the request had no Range.
        case whole
        /// Answer with 206 and at least one part. The parts are not empty, do not overlap and do not touch.
        case parts([Range<Int64>])
        /// Answer with 416: no range begins within the representation.
        case unsatisfiable
    }

    /// A request for more ranges gets the whole representation (RFC 9110 §14.2).
    package static let maximumCount = 16
    /// In the order of the field; at least one.
    package let specifications: [Specification]

    /// `nil` when the field must or may be ignored: another unit, bad grammar, or a range that ends before it begins.
    package init?(_ text: String) {
        var scanner = FieldScanner(text)
        scanner.skipSpace()
        guard scanner.token()?.lowercased() == "bytes", scanner.take("=") else { return nil }
        guard let members = scanner.list(Self.member), !members.isEmpty else { return nil }
        specifications = members
    }

    /// Reads Range of a GET. `nil` for several lines, a malformed value, and any other method (RFC 9110 §14.2).
    package init?(_ fields: HTTPFields, method: HTTPRequest.Method) {
        let lines = fields[values: .range]
        guard method == .get, lines.count == 1 else { return nil }
        self.init(lines[0])
    }

    /// Drops ranges that begin behind the end, and shortens ranges that end behind it. If any ranges overlap or touch,
    /// joins them and sorts all ranges; otherwise keeps the order of the request (RFC 9110 §15.3.7.2).
    package func resolve(length: Int64) -> Resolution {
        guard specifications.count <= Self.maximumCount else { return .whole }
        var parts: [Range<Int64>] = []
        for specification in specifications {
            switch specification {
            case .from(let first, let last):
                guard first < length else { continue }
                parts.append(first..<min(last ?? length - 1, length - 1) + 1)
            case .suffix(let suffix):
                guard suffix > 0 else { continue }
                // The range is satisfiable, but an empty representation has no part that a Content-Range could name.
                guard length > 0 else { return .whole }
                parts.append(max(0, length - suffix)..<length)
            }
        }
        let joined = ByteCoverage(parts).ranges
        return parts.isEmpty ? .unsatisfiable : .parts(joined.count == parts.count ? parts : joined)
    }

    /// `first-pos "-" [ last-pos ]` or `"-" suffix-length`. A number that does not fit counts as the largest integer.
    private static func member(_ scanner: inout FieldScanner) -> Specification? {
        if scanner.take("-") {
            return scanner.digits().map { .suffix(length: number($0)) }
        }
        guard let first = scanner.digits().map(number), scanner.take("-") else { return nil }
        guard let last = scanner.digits().map(number) else { return .from(first: first, last: nil) }
        return last < first ? nil : .from(first: first, last: last)
    }

    private static func number(_ digits: String) -> Int64 {
        Int64(digits) ?? .max
    }
}

/// The set of available bytes of a representation that may be incomplete (RFC 9111 §3.4).
package struct ByteCoverage: Hashable, Sendable {
    /// Ascending ranges that are not empty, do not overlap and do not touch.
    package private(set) var ranges: [Range<Int64>] = []

    /// The ranges may overlap and come in any order.
    package init(_ ranges: [Range<Int64>] = []) {
        for range in ranges { insert(range) }
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

    package func isComplete(length: Int64) -> Bool {
        contains(0..<length)
    }
}
