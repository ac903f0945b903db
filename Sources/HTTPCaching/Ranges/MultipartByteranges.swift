import HTTPTypes

/// A body of several ranges (RFC 9110 §14.6, §15.3.7.2), so that it can be sent piece by piece: for each part its
/// ``head(of:)`` and then its bytes, and in the end ``closing``.
public struct MultipartByteranges: Hashable, Sendable {
    /// The ranges, in the order in which they are sent.
    public let ranges: [Range<Int64>]
    /// What separates the parts.
    public let boundary: String
    private let heads: [[UInt8]]

    /// A body of some parts of a representation.
    ///
    /// - Parameters:
    ///   - ranges: none of them empty.
    ///   - completeLength: the length of the representation.
    ///   - contentType: that of the representation, which each part repeats; `nil` when it has none.
    ///   - boundary: 1 to 70 letters and digits (RFC 2046 §5.1.1) that do not occur in the body. Who cannot look for
    ///     them takes them at random.
    public init(ranges: [Range<Int64>], completeLength: Int64, contentType: HTTPField?, boundary: String) {
        self.ranges = ranges
        self.boundary = boundary
        heads = ranges.indices.map { index in
            // The line break before a delimiter belongs to it (RFC 2046 §5.1.1); before the first there is nothing.
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

    /// The Content-Type of the answer.
    public var contentType: String { "multipart/byteranges; boundary=\(boundary)" }

    /// What comes before the bytes of `ranges[index]`.
    public func head(of index: Int) -> [UInt8] { heads[index] }

    /// What comes behind the bytes of the last part.
    public var closing: [UInt8] { Array("\r\n--\(boundary)--\r\n".utf8) }

    /// The length of the body, everything included.
    public var contentLength: Int64 {
        let framing = heads.reduce(closing.count) { $0 + $1.count }
        return ranges.reduce(Int64(framing)) { $0 + $1.upperBound - $1.lowerBound }
    }
}
