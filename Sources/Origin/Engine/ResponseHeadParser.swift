import HTTPTypes
import Primitives

/// Parses the head of a response from the lines of libcurl. Refuses heads that libcurl accepts although RFC 9110 or
/// 9112 does not, because a response that two readers may understand differently must not enter a cache. A line may end
/// in a bare LF (RFC 9112 §2.2), folded lines are joined with a space (RFC 9112 §5.2), repeated equal lengths count
/// once (RFC 9110 §8.6), and control characters other than CR and NUL become spaces (RFC 9110 §5.5).
struct ResponseHeadParser {
    /// The head of a final or an interim response.
    struct Head: Equatable {
        var version: String
        var status: Int
        var fields: HTTPFields = [:]
        var contentLength: Int64?
        /// Whether the response has a transfer coding, which is always chunked.
        var isChunked = false
        /// Whether a response to GET with this status has a body (RFC 9110 §6.4.1).
        var allowsBody: Bool { status >= 200 && status != 204 && status != 304 }
    }

    /// The head is not valid HTTP, or is ambiguous.
    struct Malformed: Error, Equatable {
        let reason: String

        init(_ reason: String) {
            self.reason = reason
        }
    }

    private enum State { case statusLine, fields, body }

    /// `HTTPFields` stops the process beyond 65,534 fields. libcurl's limit, in bytes, permits 100,000 fields.
    private static let fieldLimit = 5000
    /// In bytes.
    private static let trailerLimit = 64 << 10
    private var state = State.statusLine
    /// Only this property references the head, because each added field would copy the fields of a shared head.
    private var head = Head(version: "", status: 0)
    private var trailerBytes = 0
    private var pending: (name: HTTPField.Name, value: [UInt8])?
    private let allowsHTTP2: Bool

    /// `allowsHTTP2` is false without TLS, because HTTP/2 requires TLS here.
    init(allowsHTTP2: Bool) {
        self.allowsHTTP2 = allowsHTTP2
    }

    /// Parses the next line, with its line end. Returns the head when this line completes the head. Lines after a final
    /// head are HTTP/2 trailers, which are ignored (RFC 9110 §6.5). The trailers of a chunked body are in the body.
    mutating func consume(_ line: UnsafeRawBufferPointer) throws(Malformed) -> Head? {
        var line = line[...]
        if line.last == 0x0a { line.removeLast() }
        if line.last == 0x0d { line.removeLast() }
        switch state {
        case .statusLine:
            head = try parseStatusLine(line)
            state = .fields
            return nil
        case .fields:
            if line.isEmpty {
                try flush()
                try checkFraming()
                state = head.status < 200 ? .statusLine : .body
                return head
            }
            try check(line)
            if line.first?.isFieldSpace == true {
                guard pending != nil else { throw Malformed("the first field line is folded") }
                let more = [0x20] + line.trimming(while: \.isFieldSpace)
                pending?.value += more
            } else {
                try flush()
                pending = try parseField(line)
            }
            return nil
        case .body:
            // libcurl limits the size of heads, but not the size of these trailers.
            trailerBytes += line.count
            guard trailerBytes <= Self.trailerLimit else { throw Malformed("the trailers are too long") }
            return nil
        }
    }

    /// RFC 9112 §4: `HTTP/1.1 200 OK`. HTTP/2 has no status line; libcurl writes `HTTP/2 200`.
    private func parseStatusLine(_ line: Slice<UnsafeRawBufferPointer>) throws(Malformed) -> Head {
        try check(line)
        let words = line.split(separator: 0x20, maxSplits: 2, omittingEmptySubsequences: false)
        let version = String(decoding: words[0], as: UTF8.self)
        guard version == "HTTP/1.1" || version == "HTTP/1.0" || (version == "HTTP/2" && allowsHTTP2), words.count >= 2,
            words[1].count == 3, let status = Int(digits: words[1]), status >= 100
        else { throw Malformed("the status line is not an HTTP status line") }
        // No request asks for another protocol, so 101 is an error (RFC 9110 §15.2.2).
        guard status != 101 else { throw Malformed("it switches protocols unasked") }
        var head = Head(version: String(version.dropFirst(5)), status: status)
        head.fields.reserveCapacity(16)
        return head
    }

    private func parseField(
        _ line: Slice<UnsafeRawBufferPointer>
    ) throws(Malformed) -> (HTTPField.Name, [UInt8]) {
        guard let colon = line.firstIndex(of: 0x3a) else { throw Malformed("a field line has no colon") }
        let name = line[..<colon]
        guard name.last?.isFieldSpace != true else {
            throw Malformed("white space separates a field's name from its colon")
        }
        guard let name = HTTPField.Name(String(decoding: name, as: UTF8.self)) else {
            throw Malformed("a field name contains invalid characters")
        }
        return (name, Array(line[line.index(after: colon)...].trimming(while: \.isFieldSpace)))
    }

    /// Refuses CR and NUL, because only some readers end a line or a text there (RFC 9110 §5.5, RFC 9112 §2.2).
    private func check(_ line: Slice<UnsafeRawBufferPointer>) throws(Malformed) {
        guard !line.contains(where: { $0 == 0x0d || $0 == 0x00 || $0 == 0x0a }) else {
            throw Malformed("a line contains CR or NUL")
        }
    }

    private mutating func flush() throws(Malformed) {
        guard let (name, value) = pending else { return }
        pending = nil
        guard head.fields.count < Self.fieldLimit else { throw Malformed("it has more than \(Self.fieldLimit) fields") }
        head.fields.append(HTTPField(name: name, value: value))
        switch name {
        case .contentLength: try readLength(value)
        case .transferEncoding:
            // Other codings are refused, because no request asks for them by TE (RFC 9110 §10.1.4), and because libcurl
            // would take a gzip stream that ends too early for complete.
            guard !head.isChunked, String(decoding: value, as: UTF8.self).lowercased() == "chunked" else {
                throw Malformed("it has a transfer coding other than chunked")
            }
            head.isChunked = true
        default: break
        }
    }

    private mutating func readLength(_ value: [UInt8]) throws(Malformed) {
        for member in value.split(separator: 0x2c, omittingEmptySubsequences: false) {
            guard let length = Int64(digits: member.trimming(while: \.isFieldSpace)) else {
                throw Malformed("Content-Length is not a number")
            }
            guard head.contentLength == nil || head.contentLength == length else {
                throw Malformed("the two Content-Length fields differ")
            }
            head.contentLength = length
        }
    }

    private func checkFraming() throws(Malformed) {
        guard head.isChunked else { return }
        // RFC 9112 §6.1 requires a client to treat this framing as faulty.
        guard head.version != "1.0" else { throw Malformed("it is HTTP/1.0 and has a transfer coding") }
        // RFC 9112 §6.3: such a message "might indicate an attempt to perform request smuggling or response splitting".
        guard head.contentLength == nil else {
            throw Malformed("both Content-Length and Transfer-Encoding are present")
        }
    }
}
