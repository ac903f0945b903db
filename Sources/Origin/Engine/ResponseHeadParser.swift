import HTTPTypes
import Primitives

/// Reads the head of a response from the lines that libcurl hands over, and refuses what libcurl lets through although
/// RFC 9110 and 9112 do not: what two readers may understand differently must not enter a cache.
///
/// A pure state machine: lines in, heads out. Where the RFCs let a client be lenient it is: a line may end in a bare LF
/// (RFC 9112 §2.2), folded lines are joined with a space (§5.2), repeated equal lengths are one (RFC 9110 §8.6),
/// control characters other than CR and NUL become spaces (§5.5).
struct ResponseHeadParser {
    /// The head of one response, an interim one too.
    struct Head: Equatable {
        var version: String
        var status: Int
        var fields: HTTPFields = [:]
        var contentLength: Int64?
        /// Whether there is a transfer coding, which then is chunked.
        var isChunked = false

        /// Whether the origin authenticates connections, not requests.
        var authenticatesConnection: Bool { fields.authenticateConnection }

        /// RFC 9110 §6.4.1, for a response to GET.
        var allowsBody: Bool { status >= 200 && status != 204 && status != 304 }
    }

    /// A head that is no HTTP, or ambiguous; in words.
    struct Malformed: Error, Equatable {
        let reason: String
    }

    private enum State { case statusLine, fields, body }

    /// How many fields a head may have. `HTTPFields` holds 65,534, and ends the process at the next; libcurl, which
    /// counts bytes, lets 100,000 through.
    private static let fieldLimit = 5000
    /// How many bytes of trailers are read past.
    private static let trailerLimit = 64 << 10

    private var state = State.statusLine
    /// The head that is being read, only here: a second reference would have its fields copied for each line.
    private var head = Head(version: "", status: 0)
    private var trailerBytes = 0
    private var pending: (name: HTTPField.Name, value: [UInt8])?
    private let allowsHTTP2: Bool

    /// - Parameter allowsHTTP2: whether the response can be one of HTTP/2, that is, came over TLS.
    init(allowsHTTP2: Bool) {
        self.allowsHTTP2 = allowsHTTP2
    }

    /// Takes the next line, with its line end, and returns the head that it completes. Lines after a final head are
    /// trailers of HTTP/2, which are ignored (RFC 9110 §6.5); those of chunks are in the body. Throws ``Malformed``.
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
            if line.first == 0x20 || line.first == 0x09 {
                guard pending != nil else { throw Malformed(reason: "the first field line is folded") }
                let more = [0x20] + trim(line)
                pending?.value += more
            } else {
                try flush()
                pending = try parseField(line)
            }
            return nil
        case .body:
            // libcurl counts heads, but not these.
            trailerBytes += line.count
            guard trailerBytes <= Self.trailerLimit else { throw Malformed(reason: "the trailers do not end") }
            return nil
        }
    }

    /// RFC 9112 §4: `HTTP/1.1 200 OK`; HTTP/2 has none, and libcurl writes `HTTP/2 200` for it.
    private func parseStatusLine(_ line: Slice<UnsafeRawBufferPointer>) throws(Malformed) -> Head {
        try check(line)
        let words = line.split(separator: 0x20, maxSplits: 2, omittingEmptySubsequences: false)
        let version = String(decoding: words[0], as: UTF8.self)
        guard version == "HTTP/1.1" || version == "HTTP/1.0" || (version == "HTTP/2" && allowsHTTP2), words.count >= 2,
            words[1].count == 3, let status = Int(digits: words[1]), status >= 100
        else { throw Malformed(reason: "the status line is no HTTP") }
        // Nothing was asked that 101 could answer (RFC 9110 §15.2.2).
        guard status != 101 else { throw Malformed(reason: "it switches protocols unasked") }
        var head = Head(version: String(version.dropFirst(5)), status: status)
        head.fields.reserveCapacity(16)
        return head
    }

    private func parseField(
        _ line: Slice<UnsafeRawBufferPointer>
    ) throws(Malformed) -> (HTTPField.Name, [UInt8]) {
        guard let colon = line.firstIndex(of: 0x3a) else { throw Malformed(reason: "a field line has no colon") }
        let name = line[..<colon]
        guard name.last != 0x20, name.last != 0x09 else {
            throw Malformed(reason: "there is white space between a field's name and its colon")
        }
        guard let name = HTTPField.Name(String(decoding: name, as: UTF8.self)) else {
            throw Malformed(reason: "a field's name has characters that no name may have")
        }
        return (name, Array(trim(line[line.index(after: colon)...])))
    }

    /// CR and NUL end a line, or a text, for some readers and not for others (RFC 9110 §5.5, RFC 9112 §2.2).
    private func check(_ line: Slice<UnsafeRawBufferPointer>) throws(Malformed) {
        guard !line.contains(where: { $0 == 0x0d || $0 == 0x00 || $0 == 0x0a }) else {
            throw Malformed(reason: "a line has a CR or NUL in it")
        }
    }

    private mutating func flush() throws(Malformed) {
        guard let (name, value) = pending else { return }
        pending = nil
        guard head.fields.count < Self.fieldLimit else {
            throw Malformed(reason: "it has more than \(Self.fieldLimit) fields")
        }
        head.fields.append(HTTPField(name: name, value: value))
        switch name {
        case .contentLength: try readLength(value)
        case .transferEncoding:
            // No request has a TE, so there can be no other (RFC 9110 §10.1.4). libcurl would decode gzip, too, and
            // take a stream that ends too early for complete.
            guard !head.isChunked, String(decoding: value, as: UTF8.self).lowercased() == "chunked" else {
                throw Malformed(reason: "it has a transfer coding other than chunked")
            }
            head.isChunked = true
        default: break
        }
    }

    /// RFC 9110 §8.6: digits only; several that are the same are one.
    private mutating func readLength(_ value: [UInt8]) throws(Malformed) {
        for member in value.split(separator: 0x2c, omittingEmptySubsequences: false) {
            guard let length = Int64(digits: trim(member)) else {
                throw Malformed(reason: "Content-Length is no number")
            }
            guard head.contentLength == nil || head.contentLength == length else {
                throw Malformed(reason: "there are two Content-Lengths that differ")
            }
            head.contentLength = length
        }
    }

    private func checkFraming() throws(Malformed) {
        guard head.isChunked else { return }
        // RFC 9112 §6.1: the framing is then taken for faulty.
        guard head.version != "1.0" else {
            throw Malformed(reason: "it is HTTP/1.0 and has a transfer coding")
        }
        // RFC 9112 §6.3: it "might indicate an attempt to perform request smuggling or response splitting".
        guard head.contentLength == nil else {
            throw Malformed(reason: "there are both Content-Length and Transfer-Encoding")
        }
    }

    private func trim<Bytes: BidirectionalCollection<UInt8>>(_ bytes: Bytes) -> Bytes.SubSequence {
        var rest = bytes.drop { $0 == 0x20 || $0 == 0x09 }
        while rest.last == 0x20 || rest.last == 0x09 { rest.removeLast() }
        return rest
    }
}
