import Foundation
import Primitives

/// Follows the bytes of a connection's requests in the order of arrival, before libmicrohttpd writes zeros over the
/// ends of lines. Afterwards `NUL LF` would look like `CR LF`, and a line that begins with a NUL would look empty. A
/// head has no NUL, and only empty lines may precede it, each `CR LF` (RFC 9112 §2.2). libmicrohttpd decides where a
/// head ends (``endHead(at:size:body:)``), and the head or ``ChunkedFraming`` where a body ends, so the start of each
/// head is known. libmicrohttpd 0.9.75 keeps a head, with empty lines before it, at the address of its first read.
///
/// Pointers are only compared, except that ``endHead(at:size:body:)`` reads the bytes behind a head. A class, because a
/// struct would be checked for exclusive access at each of its three calls per request.
final class RequestBytes {
    enum Body {
        /// The length in bytes; 0 without a body.
        case length(Int64)
        case chunks
    }

    private enum Place {
        /// Before or within a head.
        case head
        /// Within a body with this number of bytes still to come.
        case body(Int64)
        case chunks(ChunkedFraming)
        /// Behind the last request, because the connection will close.
        case end
    }

    private var place = Place.head
    /// The number of bytes received since the end of the last request, while ``place`` is `head`.
    private(set) var headCount = 0
    /// The offset of the first byte that no head may contain: a NUL, or, before the request line, a line end that is
    /// not `CR LF`. Counted like ``headCount``. The byte may turn out to belong to the body.
    private var firstBad: Int?
    private var isBeforeRequestLine = true
    private var isBehindCR = false
    /// The start of the connection's memory.
    private var start: UnsafeRawPointer?

    /// Whether the head is incomplete, and at least `count` bytes of it have arrived.
    func isInHead(ofAtLeast count: Int) -> Bool {
        if headCount >= count, case .head = place { true } else { false }
    }

    /// Whether the incomplete head begins with `HEAD`; false if empty lines come before the request line.
    var isForHead: Bool {
        guard let start, headCount > 4, case .head = place else { return false }
        return memcmp(start, "HEAD", 4) == 0
    }

    /// `bytes` are at the address to which libmicrohttpd reads them. Returns a defect if the request must be refused.
    func receive(_ bytes: UnsafeRawBufferPointer) -> RequestDefect? {
        if start == nil { start = bytes.baseAddress }
        return follow(bytes)
    }

    /// Called before libmicrohttpd has processed any byte behind the head. The head starts at `method`, with its
    /// request line, and has `size` bytes. Returns a defect of the head, or of the part of the body that has arrived.
    func endHead(at method: UnsafeRawPointer, size: Int, body: Body) -> RequestDefect? {
        guard case .head = place, let start else { return .malformedHead }
        let end = method - start + size
        let isWhole = method >= start && end <= headCount && firstBad.map { $0 >= end } ?? true
        guard isWhole else {
            place = .end
            return .malformedHead
        }
        let rest = UnsafeRawBufferPointer(start: method + size, count: headCount - end)
        switch body {
        case .length(0): beginHead()
        case .length(let count): place = .body(count)
        case .chunks: place = .chunks(ChunkedFraming(.ofRequests))
        }
        return rest.isEmpty ? nil : follow(rest)
    }

    private func beginHead() {
        place = .head
        headCount = 0
        firstBad = nil
        isBeforeRequestLine = true
    }

    private func follow(_ bytes: UnsafeRawBufferPointer) -> RequestDefect? {
        switch place {
        case .head: look(at: bytes)
        case .body(let rest) where rest > bytes.count: place = .body(rest - Int64(bytes.count))
        case .body(let rest):
            beginHead()
            look(at: UnsafeRawBufferPointer(rebasing: bytes[Int(rest)...]))
        case .chunks(var framing):
            do {
                var index = 0
                while try framing.next(in: bytes, from: &index) != nil {}
                // The connection closes after a chunked body: see `Response.prepared(for:on:memory:draining:)`.
                place = framing.isComplete ? .end : .chunks(framing)
            } catch {
                place = .end
                return RequestDefect(error)
            }
        case .end: break
        }
        return nil
    }

    private func look(at bytes: UnsafeRawBufferPointer) {
        var index = 0
        while isBeforeRequestLine, index < bytes.count {
            switch (bytes[index], isBehindCR) {
            case (.carriageReturn, false): isBehindCR = true
            case (.lineFeed, true): isBehindCR = false
            case (let byte, _):
                if isBehindCR || byte == .lineFeed { firstBad = firstBad ?? headCount + index }
                (isBeforeRequestLine, isBehindCR) = (false, false)
                continue
            }
            index += 1
        }
        if firstBad == nil, let base = bytes.baseAddress, let bad = memchr(base, 0, bytes.count) {
            firstBad = headCount + (UnsafeRawPointer(bad) - base)
        }
        headCount += bytes.count
    }
}

extension ChunkedFraming.Rules {
    /// Small limits, because libmicrohttpd 0.9.75 answers 500 if a line does not fit into the connection's memory.
    static let ofRequests = ChunkedFraming.Rules(extensionLimit: 4096, excessLimit: 16 << 10, trailerLimit: 8192)
}

extension RequestDefect {
    init(_ problem: ChunkedFraming.Problem) {
        self =
            switch problem {
            case .malformed: .malformedChunks
            case .sizeTooLarge: .chunkTooLarge
            case .extensionsTooLong: .chunkExtensions
            case .trailersTooLong: .trailersTooLarge
            }
    }
}
