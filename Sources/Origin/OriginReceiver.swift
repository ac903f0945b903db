import HTTPTypes
import Primitives

/// Gets what a transfer brings: the head once, then the body in pieces, then the end, exactly once and last.
///
/// The calls about one transfer come one after another, on one of the client's threads; those about others may come at
/// the same time. Each of these threads serves many transfers: nothing here may wait. Any call may start and cancel
/// transfers.
public protocol OriginReceiver: AnyObject, Sendable {
    /// The head of an interim response (RFC 9110 §15.2), each one in order and as it comes, before anything else; those
    /// of requests that are redirected, too. Not called for 100, and an unasked 101 is an error. Nothing by default.
    func originDidAnswerInterim(_ head: OriginHead)
    /// The head of the final response, once; not called when the transfer ends before it. What is thrown ends the
    /// transfer with ``OriginError/Kind/receiver(_:)``.
    func originDidAnswer(_ head: OriginHead) throws
    /// The next bytes of the body, valid during the call only; never empty. What is thrown ends the transfer.
    func originDidSend(_ bytes: UnsafeRawBufferPointer) throws
    /// All that had come of an answer together with its head was given, as far as the transfer is not paused, and there
    /// will be more: whoever waits for what comes with the head need not wait any longer. Once an answer, unless that
    /// is over by then. Nothing by default.
    func originDidPause()
    /// The end. Only `success` says that the body is complete.
    func originDidFinish(_ result: Result<OriginSummary, OriginError>)
}

extension OriginReceiver {
    /// Nothing.
    public func originDidAnswerInterim(_ head: OriginHead) {}

    /// Nothing.
    public func originDidPause() {}
}

/// How the end of a body is known.
///
/// It is about the body as it was sent. A content coding (gzip, deflate, br, zstd) that is undone marks an end of its
/// own, which has to come as well.
public enum OriginFraming: Sendable, Hashable {
    /// The answer cannot have a body (RFC 9110 §6.4.1: 1xx, 204, 304, and anything to `HEAD`).
    case noBody
    /// `Content-Length`.
    case length
    /// The last chunk (RFC 9112 §7.1).
    case chunked
    /// The end of an HTTP/2 stream.
    case stream
    /// The server's word on the control connection of FTP.
    case ftp
    /// Only by the close of the connection: whether something is missing cannot be known (RFC 9112 §8).
    case close

    /// Whether a body that ended is known to be complete.
    public var isFramed: Bool { self != .close }
}

/// The head of a response.
public struct OriginHead: Sendable {
    /// The status code, 200 to 999, or 102 to 199 of an interim response. 200 for FTP.
    public var status: Int
    /// Every field line, in order, its name as it was sent, its value byte for byte but for white space around it (also
    /// where it is not UTF-8: `withUnsafeBytesOfValue`), and for control characters, which are spaces. Trailers are not
    /// kept (RFC 9110 §6.5.1 lets them be dropped). For FTP, `Content-Length` and `Last-Modified` when the server tells
    /// them.
    public var fields: HTTPFields
    /// The URL that answered, after redirects, without a fragment.
    public var effectiveURL: String
    /// The length of the body as it will be delivered; `nil` when it is not known, or a content coding is undone. To
    /// `HEAD`, what it would be to `GET`. 0 for a status that allows no body, whatever `Content-Length` says.
    public var declaredLength: Int64?
    /// How the end of the body will be known.
    public var framing: OriginFraming
    /// `1.0`, `1.1` or `2`; `ftp`.
    public var version: String

    /// Whether the origin authenticates the connection and not the request (NTLM, Negotiate): the answer is then for
    /// the client of the connection only, whatever its fields say (RFC 4559 §6).
    public var authenticatesConnection: Bool { fields.authenticateConnection }
}

extension HTTPFields {
    var authenticateConnection: Bool {
        self[values: .wwwAuthenticate].contains(where: ConnectionCredentials.areNamed)
            || contains(HTTPField.Name("Persistent-Auth")!)
    }
}

/// What a whole transfer was.
public struct OriginSummary: Sendable {
    /// How many bytes of the body were delivered.
    public var byteCount: Int64
    /// How the end of the body was known.
    public var framing: OriginFraming
    /// How many redirects were followed.
    public var redirectCount: Int
    /// How often something was sent again.
    public var retryCount: Int
}
