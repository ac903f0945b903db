import Foundation
import Primitives

/// Follows the bytes of a connection's requests as they come, before libmicrohttpd changes them: it writes zeros over
/// the ends of lines, so that afterwards `NUL LF` looks like `CR LF`, and a line that begins with a NUL like an empty
/// one.
///
/// A head has no NUL, and before it there are only empty lines, each `CR LF` (RFC 9112 §2.2). Where a head ends is
/// libmicrohttpd's to say: ``endHead(at:size:body:)``. How long a body is follows from the head, and where it ends in
/// chunks from ``ChunkedFraming``. So the first byte of each head is known, also of pipelined requests, and nothing
/// within a body is taken for a part of a head.
///
/// libmicrohttpd 0.9.75 has the bytes of a head in one piece, together with the empty lines before it, at the start of
/// the connection's memory: where it read the very first byte to.
///
/// Pure: no I/O, no clock. Pointers are only compared, but for those behind the head, which are read once. A class,
/// because a struct inside ``Connection`` would be checked for exclusive access at each of its three calls a request.
final class RequestBytes {
    /// What follows a head.
    enum Body {
        /// So many bytes; 0 without a body.
        case length(Int64)
        case chunks
    }

    private enum Place {
        /// Before or within a head.
        case head
        /// Within a body, with so many bytes to come.
        case body(Int64)
        case chunks(ChunkedFraming)
        /// Behind the last request: the connection closes.
        case end
    }

    private var place = Place.head
    /// How many bytes have come since the end of the last request, while ``place`` is `head`.
    private(set) var headCount = 0
    /// Which of these is the first that no head has: a NUL, or a line end that is not `CR LF` before the request line.
    /// It may belong to the body of the request.
    private var firstBad: Int?
    private var isBeforeRequestLine = true
    private var isBehindCR = false
    /// Where the connection's memory starts.
    private var start: UnsafeRawPointer?

    /// Whether so many bytes have come that are not a whole head.
    func isInHead(ofAtLeast count: Int) -> Bool {
        guard headCount >= count, case .head = place else { return false }
        return true
    }

    /// Whether the request that has begun is one for HEAD, as far as its first bytes tell: it may have empty lines
    /// before.
    var isForHead: Bool {
        guard let start, headCount > 4, case .head = place else { return false }
        return memcmp(start, "HEAD", 4) == 0
    }

    /// The next bytes have come, where libmicrohttpd has put them. What must be refused at once, if anything.
    func receive(_ bytes: UnsafeRawBufferPointer) -> Request.Defect? {
        if start == nil { start = bytes.baseAddress }
        return follow(bytes)
    }

    /// The head is complete, and nothing behind it was read by anybody: what is wrong with its bytes, or with those of
    /// the body that have come with it.
    ///
    /// - Parameters:
    ///   - method: where the request line starts.
    ///   - size: how many bytes the head has, from there on.
    func endHead(at method: UnsafeRawPointer, size: Int, body: Body) -> Request.Defect? {
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

    private func follow(_ bytes: UnsafeRawBufferPointer) -> Request.Defect? {
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
                // The connection closes after a body in chunks: see Response.prepared(for:on:).
                place = framing.isComplete ? .end : .chunks(framing)
            } catch {
                place = .end
                return Request.Defect(error)
            }
        case .end: break
        }
        return nil
    }

    /// Looks for the first byte that no head has.
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
    /// Those of requests. libmicrohttpd 0.9.75 reads the framing again, and answers 500 when a line does not fit into
    /// the memory of the connection.
    static let ofRequests: ChunkedFraming.Rules = {
        var rules = ChunkedFraming.Rules(extensionLimit: 4096, trailerLimit: 8192)
        rules.excessLimit = 16 << 10
        return rules
    }()
}

extension Request.Defect {
    /// What a refused framing says of the request.
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
