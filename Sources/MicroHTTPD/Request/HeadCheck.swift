import Foundation

/// The framing and the defects of a request's head, read in libmicrohttpd's memory without copying.
struct HeadCheck {
    /// A copy of a few settings, because a copy of the whole configuration would retain many objects for each request.
    struct Limits {
        /// The largest head, in bytes of the connection's memory.
        let head: Int
        /// The longest target, in bytes.
        let target: Int
        /// Whether ``HeadLayout`` knows how libmicrohttpd lays out a head.
        let isLayoutKnown: Bool
    }

    /// The first `Content-Length`; -1 without a `Content-Length`, and if the body is chunked.
    private(set) var declaredLength: Int64 = -1
    private(set) var hasTransferEncoding = false
    /// The first defect found. A head or target that is too large replaces an earlier defect.
    private(set) var defect: RequestDefect?
    let wireLength: Int
    private var hasContentLength = false
    private var hostCount = 0
    /// The least number of bytes that the head takes in the connection's memory.
    private var memory: Int
    /// The bytes that a field or cookie takes in libmicrohttpd's memory, rounded up to the alignment.
    private static let recordSize = 64
    var hasBody: Bool { hasTransferEncoding || declaredLength > 0 }
    /// Whether the head has no defect, `Content-Length` or `Transfer-Encoding`. If so, the request has no body.
    var isPlain: Bool { defect == nil && !hasTransferEncoding && !hasContentLength }

    /// `target` is as it was sent. `recordCount`: the fields, cookies and arguments in libmicrohttpd's memory.
    init(
        _ line: RequestLine, target: UnsafeRawBufferPointer, fields: UnsafeBufferPointer<RawFieldLine>,
        wireLength: Int, recordCount: Int, limits: Limits
    ) {
        self.wireLength = wireLength
        memory = wireLength + Self.recordSize * recordCount
        let method = UnsafeRawBufferPointer(start: line.method, count: strlen(line.method))
        let versionLength = strlen(line.version)
        var layout = HeadLayout(
            line: line, methodCount: method.count, targetCount: target.count, versionCount: versionLength)
        for field in fields {
            layout.append(name: field.name, value: field.value)
            check(field.name, field.value)
        }
        layout.finish(headCount: wireLength)
        if !layout.isGapless, limits.isLayoutKnown { note(.malformedHead) }
        if !target.isVisible || !method.isToken { note(.malformedHead) }
        // HTTP/1.0 is the only version before HTTP/1.1. Later versions count as HTTP/1.1.
        let isOld = memcmp(line.version, "HTTP/1.0", min(8, versionLength)) == 0
        if hostCount > 1 || (!isOld && hostCount == 0) { note(.host) }
        if hasTransferEncoding {
            declaredLength = -1
            // HTTP/1.0 has no transfer codings, so an HTTP/1.0 server may have ignored the coding (RFC 9112 §6.1).
            if hasContentLength || isOld { note(.ambiguousLength) }
        }
        if memory > limits.head { defect = .headTooLarge }
        if target.count > limits.target { defect = .targetTooLong }
    }

    /// Notes a defect, unless an earlier defect is noted already.
    mutating func note(_ defect: RequestDefect) {
        if self.defect == nil { self.defect = defect }
    }

    /// `sentValue` may have trailing white space.
    private mutating func check(_ name: UnsafeRawBufferPointer, _ sentValue: UnsafeRawBufferPointer) {
        let value = sentValue.trimmed
        if !name.isToken || !value.isFieldContent { note(.malformedHead) }
        // The comparison of lengths excludes nearly every other field without reading a byte of its name.
        if name.count == 14, name.equalsIgnoringCase("content-length") {
            if hasContentLength { note(.ambiguousLength) }
            hasContentLength = true
            declaredLength = Int64(digits: value) ?? -1
            if declaredLength < 0 { note(.invalidLength) }
        } else if name.count == 17, name.equalsIgnoringCase("transfer-encoding") {
            // libmicrohttpd takes `chunked` with white space behind it for another coding, and the body for endless.
            if hasTransferEncoding || !sentValue.equalsIgnoringCase("chunked") { note(.ambiguousLength) }
            hasTransferEncoding = true
        } else if name.count == 4, name.equalsIgnoringCase("host") {
            hostCount += 1
            if !value.isHostAndPort { note(.host) }
        } else if name.count == 6, name.equalsIgnoringCase("cookie") {
            // libmicrohttpd makes a copy of the value and splits it into cookies.
            memory += value.count
        }
    }
}
