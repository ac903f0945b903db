/// The value of Content-Range (RFC 9110 §14.4).
///
/// ```
/// "bytes" SP ( first "-" last "/" ( complete-length / "*" ) ) / ( "*/" complete-length )
/// ```
package enum ContentRange {
    /// `bytes 0-4/10`, for a part that is not empty.
    package static func text(_ part: Range<Int64>, length: Int64) -> String {
        "bytes \(part.lowerBound)-\(part.upperBound - 1)/\(length)"
    }

    /// `bytes */10`, for a 416.
    package static func unsatisfied(length: Int64) -> String {
        "bytes */\(length)"
    }

    /// The length is `nil` when the sender did not know it. Returns `nil` unless the value is a single valid range of
    /// bytes: for another unit, a range that ends before it begins or behind the complete length, or numbers that do
    /// not fit. The place of the body in the representation is then unknown.
    package static func parse(_ text: String) -> (range: Range<Int64>, completeLength: Int64?)? {
        var scanner = FieldScanner(text)
        guard takeUnit(&scanner), let first = scanner.digits().flatMap({ Int64($0) }),
            scanner.take("-" as Unicode.Scalar), let last = scanner.digits().flatMap({ Int64($0) }),
            first <= last, last < .max, scanner.take("/" as Unicode.Scalar)
        else { return nil }
        let length: Int64?
        if scanner.take("*" as Unicode.Scalar) {
            length = nil
        } else {
            guard let number = scanner.digits().flatMap({ Int64($0) }), last < number else { return nil }
            length = number
        }
        scanner.skipSpace()
        return scanner.isAtEnd ? (first..<last + 1, length) : nil
    }

    /// The complete length in a 416; `nil` for any other value.
    package static func parseUnsatisfied(_ text: String) -> Int64? {
        var scanner = FieldScanner(text)
        guard takeUnit(&scanner), scanner.take("*/" as StaticString),
            let length = scanner.digits().flatMap({ Int64($0) })
        else { return nil }
        scanner.skipSpace()
        return scanner.isAtEnd ? length : nil
    }

    /// The unit, ignoring its case (§14.1), and the space behind it.
    private static func takeUnit(_ scanner: inout FieldScanner) -> Bool {
        scanner.skipSpace()
        return scanner.token()?.lowercased() == "bytes" && scanner.take(" " as Unicode.Scalar)
    }
}
