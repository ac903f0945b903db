/// The reason why a request must be refused, with ``Reception/refuse(_:)``: it is unknown where the
/// connection's next request begins, or other servers may understand the request differently.
package enum RequestDefect: Hashable, Sendable {
    /// The head with libmicrohttpd's records takes more than half of ``DaemonConfiguration/connectionMemory``, so there
    /// may be no room left for the head of an answer. A refusal is sent in any case (RFC 6585 §5).
    case headTooLarge
    /// The target is longer than ``DaemonConfiguration/targetLimit``, or fills the whole memory (RFC 9110 §15.5.15).
    case targetTooLong
    /// Other servers could understand the length of the body differently: several lengths, a length together with a
    /// transfer coding, a coding other than `chunked` (RFC 9112 §6.3), or a coding in HTTP/1.0 (RFC 9112 §6.1).
    case ambiguousLength
    /// A `Content-Length` that is not a number, or exceeds the largest size of a file.
    case invalidLength
    /// `Host` is missing in HTTP/1.1, repeated, or not a host with an optional port (RFC 9112 §3.2).
    case host
    /// The head violates its grammar (RFC 9112 §2 to §5): a NUL or another control character, a bare CR or LF, a folded
    /// line, a space before a colon, a name that is not a token, several spaces in a row in the request line.
    case malformedHead
    /// The chunked framing violates its grammar (RFC 9112 §7.1): an invalid size, a bare CR or LF, a control character.
    case malformedChunks
    /// A chunk exceeds the largest size of a file.
    case chunkTooLarge
    /// One chunk's extensions exceed 4 KiB, or all extensions together exceed the content by 16 KiB (RFC 9112 §7.1.1).
    case chunkExtensions
    /// The trailers have more than 8 KiB.
    case trailersTooLarge

    /// Whether libmicrohttpd's memory may have no room left for the head of an answer.
    var leavesNoRoom: Bool { self == .headTooLarge || self == .targetTooLong }

    package var status: Int {
        switch self {
        case .headTooLarge, .trailersTooLarge: 431
        case .targetTooLong: 414
        case .chunkTooLarge: 413
        case .ambiguousLength, .invalidLength, .host, .malformedHead, .malformedChunks, .chunkExtensions: 400
        }
    }

    /// A sentence for the author of the client.
    package var reason: String {
        switch self {
        case .headTooLarge: "the head of the request is too large; send fewer or shorter fields"
        case .targetTooLong: "the request target is too long; send a shorter URL, or send it in a body"
        case .ambiguousLength:
            "the length of the body is ambiguous; send either one Content-Length or Transfer-Encoding: chunked"
        case .invalidLength: "the Content-Length is not a number, or is too large"
        case .host:
            "the Host field is missing, repeated or invalid; send one Host field with a host and an optional port"
        case .malformedHead:
            "the head of the request is malformed: a control character, a bare line feed, a folded line, white "
                + "space in a wrong place, or an invalid name"
        case .malformedChunks:
            "the chunked framing of the body is malformed: a size that is not a number, a bare line feed, or a "
                + "control character"
        case .chunkTooLarge: "a chunk of the body is too large"
        case .chunkExtensions: "the chunk extensions are too long; send none"
        case .trailersTooLarge: "the trailer section is too large; send fewer or shorter fields"
        }
    }
}
