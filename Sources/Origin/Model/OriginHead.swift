import HTTPTypes
import Primitives

/// The head of a response.
package struct OriginHead: Sendable {
    /// The status code, 200 to 999; 102 to 199 for an interim response; 200 for FTP.
    package var status: Int
    /// All field lines in order, with their names as sent. The values are the sent bytes (even when they are not UTF-8:
    /// `withUnsafeBytesOfValue`), without surrounding white space and with spaces in the place of control characters.
    /// Trailers are dropped, as RFC 9110 §6.5.1 allows. For FTP: `Content-Length` and `Last-Modified`, when the server
    /// reports them.
    package var fields: HTTPFields
    /// The URL of the response, after redirects, without a fragment.
    package var effectiveURL: String
    /// The length of the delivered body; `nil` when it is unknown, or a content coding is decoded. For `HEAD`: the
    /// length of the response to `GET`. 0 for a status that allows no body, regardless of `Content-Length`.
    package var declaredLength: Int64?
    package var framing: OriginFraming
    /// `1.0`, `1.1` or `2`; `ftp` for FTP.
    package var version: String

    /// Whether the origin authenticates the connection and not the request (NTLM, Negotiate). The response is then only
    /// for the client of the connection, regardless of its fields (RFC 4559 §6).
    package var authenticatesConnection: Bool { fields.authenticateConnection }
}

extension HTTPFields {
    var authenticateConnection: Bool {
        self[values: .wwwAuthenticate].contains(where: ConnectionCredentials.areNamed)
            || contains(HTTPField.Name("Persistent-Auth")!)
    }
}

/// The way in which the end of a body is marked.
///
/// The value describes the body as it was sent. A content coding that is decoded (gzip, deflate, br, zstd) marks its
/// own end, which must arrive as well.
package enum OriginFraming: Sendable, Hashable {
    /// The response cannot have a body (RFC 9110 §6.4.1: 1xx, 204, 304, and every response to `HEAD`).
    case noBody
    /// `Content-Length` gives the length.
    case length
    /// The last chunk ends the body (RFC 9112 §7.1).
    case chunked
    /// The end of an HTTP/2 stream.
    case stream
    /// The server's reply on the control connection of FTP.
    case ftp
    /// Only the close of the connection ends the body, so a missing part cannot be detected (RFC 9112 §8).
    case close

    /// Whether the end of a body proves that the body is complete.
    package var isFramed: Bool { self != .close }
}
