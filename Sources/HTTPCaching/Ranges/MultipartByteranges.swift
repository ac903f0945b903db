import HTTPTypes

/// The framing of a body with several ranges (RFC 9110 §14.6, §15.3.7.2). The sender sends the body piece by piece: for
/// each part its ``head(of:)`` and its bytes, and at the end ``closing``.
package struct MultipartByteranges: Hashable, Sendable {
    /// In the order of sending; none is empty.
    package let ranges: [Range<Int64>]
    package let boundary: String
    private let heads: [[UInt8]]

    /// Each part repeats the Content-Type of the representation. `boundary` has 1 to 70 letters and digits (RFC 2046
    /// §5.1.1) that do not occur in the body. A caller that cannot search the body chooses them at random.
    package init(ranges: [Range<Int64>], completeLength: Int64, contentType: HTTPField?, boundary: String) {
        self.ranges = ranges
        self.boundary = boundary
        heads = ranges.indices.map { index in
            // The line break before a delimiter belongs to it (RFC 2046 §5.1.1). The first delimiter has none.
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
