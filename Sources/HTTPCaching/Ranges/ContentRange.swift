import HTTPTypes

/// The value of Content-Range (RFC 9110 §14.4):
/// `"bytes" SP ( first "-" last "/" ( complete-length / "*" ) ) / ( "*/" complete-length )`.
package enum ContentRange {
    /// `bytes 0-4/10`, for a part that is not empty; `bytes 0-4/*` without the length.
    package static func text(_ part: Range<Int64>, length: Int64?) -> String {
        "bytes \(part.lowerBound)-\(part.upperBound - 1)/\(length.map { String($0) } ?? "*")"
    }

    /// `bytes */10`, for a 416.
    package static func unsatisfied(length: Int64) -> String {
        "bytes */\(length)"
    }

    /// Reads a value such as `bytes 0-4/10`; for `bytes 0-4/*` the length is `nil`. Returns `nil` for `bytes */10`,
    /// another unit, a range that ends before it begins or behind the complete length, and numbers that do not fit.
    package static func parse(_ text: String) -> (range: Range<Int64>, completeLength: Int64?)? {
        var scanner = FieldScanner(text)
        scanner.skipSpace()
        // The unit may be in upper or lower case (RFC 9110 §14.1).
        guard scanner.token()?.lowercased() == "bytes", scanner.take(" "),
            let first = scanner.digits().flatMap({ Int64($0) }), scanner.take("-"),
            let last = scanner.digits().flatMap({ Int64($0) }), first <= last, last < .max, scanner.take("/")
        else { return nil }
        let length: Int64?
        if scanner.take("*") {
            length = nil
        } else {
            guard let number = scanner.digits().flatMap({ Int64($0) }), last < number else { return nil }
            length = number
        }
        scanner.skipSpace()
        return scanner.isAtEnd ? (first..<last + 1, length) : nil
    }
}

/// The framing of a body with several ranges (RFC 9110 §14.6, §15.3.7.2). The sender sends the body piece by piece: for
/// each part its ``head(of:)`` and its bytes, and at the end ``closing``.
package struct MultipartByteranges: Hashable, Sendable {
    /// In the order of sending; no range is empty.
    package let ranges: [Range<Int64>]
    package let boundary: String
    private let heads: [[UInt8]]

    /// Each part repeats the Content-Type of the representation. `boundary` has 1 to 70 letters and digits (RFC 2046
    /// §5.1.1) that do not occur in the body. A caller that cannot search the body chooses a random boundary.
    package init(ranges: [Range<Int64>], completeLength: Int64, contentType: HTTPField?, boundary: String) {
        self.ranges = ranges
        self.boundary = boundary
        heads = ranges.indices.map { index in
            // A delimiter begins with a line break (RFC 2046 §5.1.1). The first delimiter needs no line break.
            var head = Array("\(index == 0 ? "" : "\r\n")--\(boundary)\r\n".utf8)
            if let contentType {
                head += "Content-Type: ".utf8
                contentType.withUnsafeBytesOfValue { head += $0 }
                head += "\r\n".utf8
            }
            head += "Content-Range: \(ContentRange.text(ranges[index], length: completeLength))\r\n\r\n".utf8
            return head
        }
    }

    package var contentType: String { "multipart/byteranges; boundary=\(boundary)" }

    package func head(of index: Int) -> [UInt8] { heads[index] }
    package var closing: [UInt8] { Array("\r\n--\(boundary)--\r\n".utf8) }

    /// Includes the framing.
    package var contentLength: Int64 {
        let framing = heads.reduce(closing.count) { $0 + $1.count }
        return ranges.reduce(Int64(framing)) { $0 + $1.upperBound - $1.lowerBound }
    }
}
