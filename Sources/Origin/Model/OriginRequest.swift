import HTTPTypes
import Primitives

/// A request to an origin; a `GET` by default.
package struct OriginRequest: Sendable {
    /// An absolute URL, sent byte for byte without its fragment. The URL gives the host to connect to and, without a
    /// ``requestTarget``, the target.
    package var url: String
    /// The method, as it is sent; `GET` by default. `CONNECT` is refused, and so is every method except `GET` for FTP.
    ///
    /// Only the idempotent methods (`GET`, `HEAD`, `OPTIONS`, `TRACE`, `PUT`, `DELETE`) are sent again after a failure
    /// (``RetryPolicy``, RFC 9110 §9.2.2). A request with another method is sent again only when the connection could
    /// not be opened. Such a request gets a connection of its own, because a reused connection may turn out to be
    /// closed only after the request is under way.
    package var method: HTTPRequest.Method = .get
    /// The target of the request line, byte for byte: `*`, or a path and query that a URL parser would change, such as
    /// a bare `?` at the end. The target applies to the first request only, not to its redirects and not to FTP. `nil`,
    /// the default, uses the target of the URL. A target other than `*` must start with `/` and have neither spaces nor
    /// control characters; otherwise the request is refused.
    package var requestTarget: String?
    /// The fields to send, in order; none by default. A field replaces the default field of the same name
    /// (``addsDefaultFields``). Values are sent byte for byte, including empty values.
    ///
    /// `Content-Length` and `Transfer-Encoding` are not sent, because the ``body`` determines the framing. `Host` comes
    /// first.
    ///
    /// A redirect to another scheme, host or port gets only the fields that do not identify the caller: `Accept` and
    /// related fields, `Cache-Control`, `Pragma`, `User-Agent`, `Range` and the conditional fields (RFC 9110 §15.4).
    package var fields: HTTPFields = [:]
    /// Whether the client adds `User-Agent`, `Accept` and, with ``decodesContent``, `Accept-Encoding` when ``fields``
    /// lacks them; `true` by default. With `false` the client adds only `Host` and the framing of a body.
    package var addsDefaultFields = true
    /// The body to send; `nil`, the default, for none. `HEAD` with a body is refused. A body can be sent once: after a
    /// failure the request is sent again only when no byte of the body was taken. The client sends the body over
    /// HTTP/1.1 and a connection of its own, without waiting for `100 Continue`. A final response with a status from
    /// 300 on stops the body (``OriginUpload`` is closed), and so does the end of the transfer. After any other
    /// response the client goes on sending, and the transfer ends when both are complete.
    package var body: OriginUpload?
    /// The limit for the body in bytes, counted after decoding; no limit by default. The same limit applies to the
    /// coded body, however short the decoded body is, and to the bytes between two content codings.
    package var sizeLimit = Int64.max
    /// Whether the client asks for content codings (gzip, br, zstd) and decodes them (also deflate; at most two in
    /// sequence); `true` by default. A file that is itself compressed, according to its name or media type, is not
    /// decoded. Names in `Content-Encoding` that are not codings are ignored. A body that cannot be decoded to its end
    /// fails with ``OriginError/Kind/contentCoding(_:)``. A body without bytes is empty, regardless of its
    /// `Content-Encoding`. With `false` the client asks for no coding and delivers the body as sent.
    package var decodesContent = true
    /// Whether the client follows 301, 302, 303, 307 and 308 with a `Location`; `true` by default. Otherwise, and
    /// always with a ``body`` or a method other than `GET` and `HEAD`, the receiver gets these responses like any
    /// other.
    package var followsRedirects = true

    /// The policy for the addresses of this request; `nil`, the default, uses
    /// ``OriginConfiguration/addressPolicy``. The policy applies to a reused connection, too, whichever request
    /// opened it.
    package var addressPolicy: AddressPolicy?

    /// A request for `url`, with the defaults for all other properties.
    package init(url: String) {
        self.url = url
    }
}

extension OriginRequest {
    /// Whether the request authenticates its connection, which must then carry no other request.
    var isForOneConnection: Bool {
        fields[values: .authorization].contains(where: ConnectionCredentials.areNamed)
    }
}
