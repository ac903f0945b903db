import HTTPTypes
import Primitives

/// A request to an origin; a `GET` by default.
public struct OriginRequest: Sendable {
    /// An absolute URL, which is sent byte for byte as it is (but for its fragment, which no request has). It says
    /// where to connect, and, without a ``requestTarget``, what to ask for.
    public var url: String
    /// The method, as it is sent; `GET` by default. `CONNECT` is refused, for FTP everything but `GET`.
    ///
    /// Only the idempotent ones (`GET`, `HEAD`, `OPTIONS`, `TRACE`, `PUT`, `DELETE`) are sent again after a failure
    /// (``RetryPolicy``, RFC 9110 §9.2.2), others only when the connection could not be opened; they have a connection
    /// of their own, because one that is used again may turn out to be closed only when the request is under way.
    public var method: HTTPRequest.Method = .get
    /// The target of the request line, byte for byte: `*`, or a path and query for what a URL parser changes, such as a
    /// bare `?` at the end. It holds for the first request, not for those that redirects lead to, and not for FTP.
    /// `nil`, the default, for that of the URL. It starts with `/` and has neither spaces nor control characters, else
    /// the request is refused.
    public var requestTarget: String?
    /// Fields to send, in order; one beside those of ``addsDefaultFields`` takes the other's place. None by default.
    /// Values go out byte for byte, empty ones too.
    ///
    /// `Content-Length` and `Transfer-Encoding` are not sent: the framing is that of the ``body``. `Host` comes first.
    ///
    /// A redirect to another scheme, host or port gets only those that say nothing about who asks: `Accept` and its
    /// kin, `Cache-Control`, `Pragma`, `User-Agent`, `Range` and the conditional ones (RFC 9110 §15.4).
    public var fields: HTTPFields = [:]
    /// Whether `User-Agent`, `Accept`, and with ``decodesContent`` `Accept-Encoding`, are sent when ``fields`` has
    /// none; `true` by default. With `false` nothing is added to the fields but `Host` and the framing of a body.
    public var addsDefaultFields = true
    /// The content to send; `nil`, the default, for none. `HEAD` with content is refused. It can be sent once: the
    /// request is sent again after a failure only when not one byte of it was taken. It goes out at once, over HTTP/1.1
    /// and a connection of its own, without waiting for `100 Continue`. A final answer with a status from 300 on ends
    /// it (``OriginUpload`` is closed), as does the end of the transfer; after another the sending goes on, and the
    /// transfer ends when both are complete.
    public var body: OriginUpload?
    /// The most bytes a body may have, counted as they are delivered (decoded); no limit by default. Nor may
    /// it be longer in its content codings, however little it decodes to, or between two of them.
    public var sizeLimit = Int64.max
    /// Whether content codings are asked for (gzip, br, zstd) and undone (these, and deflate; at most two, one over the
    /// other); `true` by default. A file that is compressed itself, as its name or media type tells, stays as it is.
    /// Names in `Content-Encoding` that are no coding are ignored. A body that cannot be decoded to its end fails with
    /// ``OriginError/Kind/contentCoding(_:)``; one without a byte is empty, whatever its `Content-Encoding`. With
    /// `false` nothing is asked for, and the body is delivered as it was sent.
    public var decodesContent = true
    /// Whether 301, 302, 303, 307 and 308 with a `Location` are followed; `true` by default. Otherwise, and always with
    /// a ``body`` or a method other than `GET` and `HEAD`, they are answers like any other.
    public var followsRedirects = true

    /// Where it may lead; `nil`, the default, for ``OriginClient/Configuration/addressPolicy``. It holds for a
    /// connection that is used again, too, whoever opened it.
    public var addressPolicy: AddressPolicy?

    /// A request for `url`, otherwise with the defaults.
    public init(url: String) {
        self.url = url
    }
}

extension OriginRequest {
    /// Whether the request authenticates the connection that it goes over, which then must carry no other.
    var isForOneConnection: Bool {
        fields[values: .authorization].contains(where: ConnectionCredentials.areNamed)
    }
}
