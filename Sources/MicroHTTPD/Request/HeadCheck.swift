import CMicroHTTPD
import Foundation

/// What the head of a request says of its form, found out where it lies.
struct HeadCheck {
    /// The bounds of one daemon, copied out of its configuration once, because a copy of that counts many references.
    struct Limits {
        /// Bytes of the connection's memory that a head may take.
        let head: Int
        /// Bytes of the target.
        let target: Int
        /// Whether ``HeadLayout`` knows how libmicrohttpd lays out a head.
        let isLayoutKnown: Bool

        init(_ configuration: Daemon.Configuration) {
            head = configuration.headLimit
            target = configuration.targetLimit
            isLayoutKnown = configuration.isLayoutKnown
        }
    }

    /// Of the body, by the first `Content-Length`; -1 without one, and when the body is chunked.
    private(set) var declaredLength: Int64 = -1
    private(set) var hasTransferEncoding = false
    /// The first one that was found.
    private(set) var defect: Request.Defect?
    /// How many bytes the head has on the wire.
    let wireLength: Int

    private var hasContentLength = false
    private var hostCount = 0
    /// How much of libmicrohttpd's memory for the connection the head takes, at least.
    private var memory: Int

    /// What libmicrohttpd takes of the connection's memory for each field and each cookie, rounded up to its alignment.
    private static let recordSize = 64

    /// Whether a body follows the head: a `Content-Length` other than 0, or any `Transfer-Encoding`.
    var hasBody: Bool { hasTransferEncoding || declaredLength > 0 }

    /// Whether nothing can follow the head but another request.
    var isPlain: Bool { defect == nil && !hasTransferEncoding && !hasContentLength }

    /// - Parameters:
    ///   - target: as it was sent.
    ///   - recordCount: how many fields, cookies and arguments libmicrohttpd has found.
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
        // Before HTTP/1.1, and what comes after it.
        let isOld = memcmp(line.version, "HTTP/1.0", min(8, versionLength)) == 0
        if hostCount > 1 || (!isOld && hostCount == 0) { note(.host) }
        if hasTransferEncoding {
            declaredLength = -1
            // HTTP/1.0 knows no transfer codings, and whoever passed the request on may not have, either (RFC 9112
            // §6.1).
            if hasContentLength || isOld { note(.ambiguousLength) }
        }
        if memory > limits.head { defect = .headTooLarge }
        if target.count > limits.target { defect = .targetTooLong }
    }

    /// Notes a defect that was found elsewhere, if there was none so far.
    mutating func note(_ defect: Request.Defect) {
        if self.defect == nil { self.defect = defect }
    }

    /// `sentValue` may have white space behind it.
    private mutating func check(_ name: UnsafeRawBufferPointer, _ sentValue: UnsafeRawBufferPointer) {
        let value = sentValue.trimmed
        if !name.isToken || !value.isFieldContent { note(.malformedHead) }
        // The lengths tell nearly every other field apart before a byte is compared.
        if name.count == 14, name.equalsIgnoringCase("content-length") {
            if hasContentLength { note(.ambiguousLength) }
            hasContentLength = true
            declaredLength = value.decimal ?? -1
            if declaredLength < 0 { note(.invalidLength) }
        } else if name.count == 17, name.equalsIgnoringCase("transfer-encoding") {
            // With white space behind it libmicrohttpd takes it for another coding, and the body for endless.
            if hasTransferEncoding || !sentValue.equalsIgnoringCase("chunked") { note(.ambiguousLength) }
            hasTransferEncoding = true
        } else if name.count == 4, name.equalsIgnoringCase("host") {
            hostCount += 1
            if !value.isHostAndPort { note(.host) }
        } else if name.count == 6, name.equalsIgnoringCase("cookie") {
            // libmicrohttpd takes a copy apart.
            memory += value.count
        }
    }
}
