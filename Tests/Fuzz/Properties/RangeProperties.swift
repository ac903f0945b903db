import HTTPCaching
import HTTPTypes
import Primitives

/// The first line is the value of Range or Content-Range. Each pair of bytes behind it is a range of small numbers.
enum RangeProperties {
    static func check(_ bytes: [UInt8]) throws(Violation) {
        let text = bytes.lines[0].text
        if let set = ByteRangeSet(text) { try checkSet(set) }
        try checkContentRange(text)
        try checkCoverage(bytes.dropFirst(bytes.lines[0].count + 1).prefix(64))
    }

    private static func checkSet(_ set: ByteRangeSet) throws(Violation) {
        let text = "bytes=" + set.specifications.map(written).joined(separator: ", ")
        try demand(ByteRangeSet(text) == set, "a written set reads back unchanged", text)
        for length: Int64 in [0, 1, 10, 1000, 1 << 40, .max] {
            switch set.resolve(length: length) {
            case .whole:
                try demand(
                    set.specifications.count > ByteRangeSet.maximumCount || length == 0,
                    "only too many ranges or an empty body resolve to the whole", text)
            case .unsatisfiable:
                try demand(
                    length > 1000 || asked(set, of: length).isEmpty, "an unsatisfiable set asks for no existing byte",
                    "\(text) \(length)")
            case .parts(let parts):
                try checkParts(parts, of: length, text)
                if length <= 1000 {
                    let sent = Set(parts.flatMap { Array($0) })
                    try demand(
                        sent == asked(set, of: length), "the parts have exactly the requested bytes",
                        "\(text) \(length)")
                }
            }
        }
    }

    /// Each part lies within the whole, is not empty and touches no other part.
    private static func checkParts(_ parts: [Range<Int64>], of length: Int64, _ text: String) throws(Violation) {
        try demand(
            !parts.isEmpty && parts.count <= ByteRangeSet.maximumCount, "the number of parts is within its limits", text
        )
        for part in parts {
            try demand(
                !part.isEmpty && part.lowerBound >= 0 && part.upperBound <= length, "a part is within the whole", text)
            let (range, complete) = try demanded(
                ContentRange.parse(ContentRange.text(part, length: length)), "a part has a Content-Range", text)
            try demand(range == part && complete == length, "a Content-Range reads back as its part", text)
        }
        let ordered = parts.sorted { $0.lowerBound < $1.lowerBound }
        try demand(
            zip(ordered, ordered.dropFirst()).allSatisfy { $0.upperBound < $1.lowerBound }, "no part touches another",
            text)
        guard length <= 1 << 40 else { return }
        let body = MultipartByteranges(ranges: parts, completeLength: length, contentType: nil, boundary: "b")
        var count = Int64(body.closing.count)
        for index in parts.indices { count += Int64(body.head(of: index).count) + Int64(parts[index].count) }
        try demand(body.contentLength == count, "the content length of a multipart body is right", text)
    }

    private static func asked(_ set: ByteRangeSet, of length: Int64) -> Set<Int64> {
        set.specifications.reduce(into: []) { bytes, specification in
            switch specification {
            case .from(let first, let last):
                guard first < length else { return }
                bytes.formUnion(first...min(last ?? length - 1, length - 1))
            case .suffix(let suffix):
                bytes.formUnion(max(0, length - suffix)..<length)
            }
        }
    }

    private static func written(_ specification: ByteRangeSet.Specification) -> String {
        switch specification {
        case .from(let first, let last): "\(first)-" + (last.map(String.init) ?? "")
        case .suffix(let length): "-\(length)"
        }
    }

    private static func checkContentRange(_ text: String) throws(Violation) {
        if let (range, length) = ContentRange.parse(text) {
            try demand(!range.isEmpty && range.lowerBound >= 0, "a part is not empty", text)
            if let length {
                try demand(range.upperBound <= length, "a part is within the whole", text)
                let again = ContentRange.parse(ContentRange.text(range, length: length))
                try demand(
                    again?.range == range && again?.completeLength == length,
                    "a written Content-Range reads back unchanged", text)
            }
        }
    }

    /// A coverage contains the same bytes as a set of byte offsets.
    private static func checkCoverage(_ bytes: ArraySlice<UInt8>) throws(Violation) {
        var coverage = ByteCoverage()
        var present: Set<Int64> = []
        var rest = bytes
        while let first = rest.popFirst(), let second = rest.popFirst() {
            let range = Int64(min(first, second))..<Int64(max(first, second))
            try demand(
                coverage.contains(range) == range.allSatisfy(present.contains),
                "a range is contained when all its bytes are present", "\(range)")
            coverage.insert(range)
            present.formUnion(range)
            try demand(
                Set(coverage.ranges.flatMap { Array($0) }) == present, "the coverage has exactly the inserted bytes",
                "\(coverage)")
        }
        let ranges = coverage.ranges
        try demand(
            ranges.allSatisfy { !$0.isEmpty }
                && zip(ranges, ranges.dropFirst()).allSatisfy { $0.upperBound < $1.lowerBound },
            "ranges ascend, and none touches another", "\(ranges)")
        try demand(
            ByteCoverage(ranges.reversed()) == coverage, "the order of insertions makes no difference", "\(ranges)")
    }
}
