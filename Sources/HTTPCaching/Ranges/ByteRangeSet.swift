import HTTPTypes

/// The byte ranges in the Range field of a request (RFC 9110 §14.1.2, §14.2).
package struct ByteRangeSet: Hashable, Sendable {
    package enum Specification: Hashable, Sendable {
        /// `first-last`; `first-` reaches to the end of the representation.
        case from(first: Int64, last: Int64?)
        /// `-length`: the *last* `length` bytes.
        case suffix(length: Int64)
    }

    /// The part of a representation that answers the request.
    package enum Resolution: Hashable, Sendable {
        /// The whole representation, with 200, as if the request had no Range.
        case whole
        /// These parts, with 206: at least one part. The parts are not empty, do not overlap and do not touch.
        case parts([Range<Int64>])
        /// No bytes, with 416: no range begins within the representation.
        case unsatisfiable
    }

    /// The most ranges that are answered individually. A request for more ranges gets the whole representation (§14.2).
    package static let maximumCount = 16

    /// The members in their order; at least one.
    package let specifications: [Specification]

    /// Reads the value of the field. Returns `nil` when a server must or may ignore the field: the unit is not bytes,
    /// the value does not follow the grammar, or a range ends before it begins.
    package init?(_ text: String) {
        var scanner = FieldScanner(text)
        scanner.skipSpace()
        guard scanner.token()?.lowercased() == "bytes", scanner.take("=" as Unicode.Scalar) else { return nil }
        var members: [Specification] = []
        while true {
            scanner.skipListSeparators()
            if scanner.isAtEnd { break }
            guard let member = Self.member(&scanner) else { return nil }
            members.append(member)
            scanner.skipSpace()
            guard scanner.isAtEnd || scanner.isAtListSeparator else { return nil }
        }
        guard !members.isEmpty else { return nil }
        specifications = members
    }

    /// Reads the ranges of a request. Returns `nil` when no range applies: the method is not GET, the only method for
    /// which §14.2 defines Range; the field is absent or has several lines; or the value must be ignored.
    package init?(_ fields: HTTPFields, method: HTTPRequest.Method) {
        let lines = fields[values: .range]
        guard method == .get, lines.count == 1 else { return nil }
        self.init(lines[0])
    }

    /// Returns the bytes to send from a representation of `length` bytes.
    ///
    /// Ranges that begin behind the end are dropped, and ranges that end behind it are cut. When ranges overlap or
    /// touch, they are joined and all ranges come in ascending order. Otherwise the ranges keep the order of the
    /// request (§15.3.7.2).
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
        return parts.isEmpty ? .unsatisfiable : .parts(Self.joined(parts))
    }

    private static func joined(_ parts: [Range<Int64>]) -> [Range<Int64>] {
        var merged: [Range<Int64>] = []
        for part in parts.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            if let last = merged.last, part.lowerBound <= last.upperBound {
                merged[merged.count - 1] = last.lowerBound..<max(last.upperBound, part.upperBound)
            } else {
                merged.append(part)
            }
        }
        return merged.count == parts.count ? parts : merged
    }

    /// Takes `first-pos "-" [ last-pos ]` or `"-" suffix-length`. A number that does not fit counts as the largest
    /// integer.
    private static func member(_ scanner: inout FieldScanner) -> Specification? {
        if scanner.take("-" as Unicode.Scalar) {
            return scanner.digits().map { .suffix(length: number($0)) }
        }
        guard let first = scanner.digits().map(number), scanner.take("-" as Unicode.Scalar) else { return nil }
        guard let last = scanner.digits().map(number) else { return .from(first: first, last: nil) }
        return last < first ? nil : .from(first: first, last: last)
    }

    private static func number(_ digits: String) -> Int64 {
        Int64(digits) ?? .max
    }
}
