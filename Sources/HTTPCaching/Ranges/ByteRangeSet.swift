import HTTPTypes

/// The ranges that a request's Range asks for (RFC 9110 §14.1.2, §14.2).
public struct ByteRangeSet: Hashable, Sendable {
    /// One member of the set.
    public enum Specification: Hashable, Sendable {
        /// `first-last`; without `last` to the end.
        case from(first: Int64, last: Int64?)
        /// `-length`: the *last* `length` bytes.
        case suffix(length: Int64)
    }

    /// What to send of a representation.
    public enum Resolution: Hashable, Sendable {
        /// All of it, with 200, as if no range had been asked for.
        case whole
        /// These parts, with 206: at least one, none empty, none touching another.
        case parts([Range<Int64>])
        /// Nothing, with 416: no range begins within the representation.
        case unsatisfiable
    }

    /// The most ranges that are answered one by one; who asks for more gets the whole (§14.2).
    public static let maximumCount = 16

    /// The members, in their order; at least one.
    public let specifications: [Specification]

    /// Reads the field's value. `nil` when a server must or may ignore it: another unit than bytes, a value that does
    /// not follow the grammar, a range that ends before it begins.
    public init?(_ text: String) {
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

    /// The ranges of a request. `nil` when it asks for none that a server answers: not a GET, the only method for which
    /// §14.2 defines Range; no such field, or several lines of it; a value that is ignored.
    public init?(_ fields: HTTPFields, method: HTTPRequest.Method) {
        let lines = fields[values: .range]
        guard method == .get, lines.count == 1 else { return nil }
        self.init(lines[0])
    }

    /// What to send of a representation of `length` bytes.
    ///
    /// Ranges that begin behind the end are dropped, ends are cut, and ranges that overlap or touch are joined (then
    /// they come in ascending order); others keep the order in which they were asked for (§15.3.7.2).
    public func resolve(length: Int64) -> Resolution {
        guard specifications.count <= Self.maximumCount else { return .whole }
        var parts: [Range<Int64>] = []
        for specification in specifications {
            switch specification {
            case .from(let first, let last):
                guard first < length else { continue }
                parts.append(first..<min(last ?? length - 1, length - 1) + 1)
            case .suffix(let suffix):
                guard suffix > 0 else { continue }
                // Satisfiable, but of nothing there is no part that a Content-Range could name.
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

    /// `first-pos "-" [ last-pos ]` or `"-" suffix-length`. What no integer can hold is the largest there is.
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
