extension Request {
    /// Why a request must be refused, with ``Reception/refuse(_:)``: what follows it on its connection may not be what
    /// it seems, or others could understand it differently.
    public enum Defect: Hashable, Sendable {
        /// With the bookkeeping it takes more than half of ``Daemon/Configuration/connectionMemory``, and there may be
        /// no room left for the head of an answer. A refusal is sent all the same (RFC 6585 §5).
        case headTooLarge
        /// The request target is longer than ``Daemon/Configuration/targetLimit``, or does not fit at all (RFC 9110
        /// §15.5.15).
        case targetTooLong
        /// The length of the body could be understood differently by others: several lengths, a length beside a
        /// transfer coding, a coding other than `chunked` (RFC 9112 §6.3), or one in HTTP/1.0 (§6.1).
        case ambiguousLength
        /// A `Content-Length` that is not a number, or not one that a file can have.
        case invalidLength
        /// No `Host`, which HTTP/1.1 demands, several, or one that is not a host with or without a port (RFC 9112
        /// §3.2).
        case host
        /// Something in the head that its grammar does not allow (RFC 9112 §2 to §5): a NUL or another control
        /// character, a bare CR or LF, a folded line, a space before a colon, a name that is not a token, spaces in a
        /// row in the request line.
        case malformedHead
        /// Something in the framing of a body in chunks that its grammar does not allow (RFC 9112 §7.1): a size that is
        /// no number, a bare CR or LF, a control character.
        case malformedChunks
        /// A chunk of more bytes than a file can have.
        case chunkTooLarge
        /// Extensions of chunks of more than 4 KiB in a line, or in all of 16 KiB more than there is data. Nobody needs
        /// them (RFC 9112 §7.1.1).
        case chunkExtensions
        /// A trailer section of more than 8 KiB.
        case trailersTooLarge

        /// Whether libmicrohttpd's memory may have no room left for the head of an answer.
        var leavesNoRoom: Bool { self == .headTooLarge || self == .targetTooLong }

        /// The status code that says so.
        public var status: Int {
            switch self {
            case .headTooLarge, .trailersTooLarge: 431
            case .targetTooLong: 414
            case .chunkTooLarge: 413
            case .ambiguousLength, .invalidLength, .host, .malformedHead, .malformedChunks, .chunkExtensions: 400
            }
        }

        /// What is wrong, and what to do about it, for the one who wrote the client.
        public var reason: String {
            switch self {
            case .headTooLarge: "the head of the request is too large; send fewer or shorter fields"
            case .targetTooLong: "the request target is too long; send a shorter URL, or send it in a body"
            case .ambiguousLength: "the length of the body is ambiguous; send one Content-Length, or chunked"
            case .invalidLength: "the Content-Length is not a number, or too large a one"
            case .host: "HTTP/1.1 has one Host field in each request, with a host and perhaps a port"
            case .malformedHead:
                "the head of the request is malformed: a control character, a bare line feed, a folded line, white space "
                    + "where none may be, or an illegal name"
            case .malformedChunks:
                "the framing of the body in chunks is malformed: a size that is no number, a bare line feed, or a control "
                    + "character"
            case .chunkTooLarge: "a chunk of the body is larger than any body can be"
            case .chunkExtensions: "the extensions of the chunks are too long; send none"
            case .trailersTooLarge: "the trailer section is too large; send fewer or shorter fields"
            }
        }
    }
}
