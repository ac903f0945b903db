import HTTPTypes
import Primitives

/// A request to an origin; a `GET` by default.
package struct OriginRequest: Sendable {
    /// Absolute; sent byte for byte without its fragment, except that ``requestTarget`` can replace its target.
    package var url: String
    /// `CONNECT` is refused, and so is every method except `GET` for FTP. Only the idempotent methods (RFC 9110 §9.2.2)
    /// are sent again after a failure (``RetryPolicy``); other methods only when their connection could not be opened.
    package var method: HTTPRequest.Method = .get
    /// The target of the request line, byte for byte: `*`, or a path and query without spaces and control characters
    /// that a URL parser would change, such as a bare `?` at the end. For the first request only, not for FTP.
    package var requestTarget: String?
    /// The fields to send, in order and byte for byte, including empty values. A field replaces the default field of
    /// the same name (``addsDefaultFields``). `Content-Length` and `Transfer-Encoding` are not sent, because the
    /// ``body`` determines the framing. `Host` comes first. A redirect to another scheme, host or port gets only the
    /// fields that do not identify the caller: `Accept` and related fields, `Cache-Control`, `Pragma`, `User-Agent`,
    /// `Range` and the conditional fields (RFC 9110 §15.4).
    package var fields: HTTPFields = [:]
    /// Whether the client adds `User-Agent`, `Accept` and, with ``decodesContent``, `Accept-Encoding` when ``fields``
    /// lacks them. With `false` the client adds only `Host` and the framing of a body.
    package var addsDefaultFields = true
    /// `HEAD` with a body is refused. The body goes over HTTP/1.1 and a connection of its own, without waiting for `100
    /// Continue`; only an untouched body is sent again. A final response with a status from 300 on closes the body.
    package var body: OriginUpload?
    /// The limit in bytes for the decoded body, the coded body, and the bytes between two content codings.
    package var sizeLimit = Int64.max
    /// Whether the client asks for content codings (gzip, br, zstd) and decodes them (also deflate; at most two in
    /// sequence). A file that is compressed by its name or media type is not decoded, nor is a body without bytes. A
    /// body that cannot be decoded to its end fails with ``OriginError/Kind/contentCoding(_:)``.
    package var decodesContent = true
    /// Whether the client follows 301, 302, 303, 307 and 308 with a `Location`. Otherwise, and always with a ``body``
    /// or a method other than `GET` and `HEAD`, the receiver gets these responses like any other.
    package var followsRedirects = true
    /// `nil` uses ``OriginConfiguration/addressPolicy``. The policy applies to a reused connection, too.
    package var addressPolicy: AddressPolicy?

    package init(url: String) {
        self.url = url
    }
}

extension OriginRequest {
    /// Throws the first fault that keeps the request from being sent.
    func checkedURL(
        _ configuration: OriginConfiguration, known: inout KnownURLs
    ) throws(OriginError) -> OriginURL {
        let url = try Result { () throws(OriginURL.Invalid) in try known.url(of: self) }
            .mapError { OriginError(.urlInvalid($0.reason)) }.get()
        guard configuration.allows(url.scheme) else { throw OriginError(.schemeRefused(url.scheme)) }
        guard !url.host.isEmpty else { throw OriginError(.urlInvalid("it has no host")) }
        // CONNECT creates a tunnel instead of a response (RFC 9110 §9.3.6).
        guard method != .connect else { throw OriginError(.requestInvalid("CONNECT is not supported")) }
        // libcurl would omit the body, which has no meaning (RFC 9110 §9.3.2).
        guard method != .head || body == nil else { throw OriginError(.requestInvalid("HEAD has no body")) }
        if let requestTarget, requestTarget != "*" {
            guard requestTarget.utf8.first == 0x2f, requestTarget.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7f }) else {
                throw OriginError(.requestInvalid("its target is not a path, or contains invalid characters"))
            }
        }
        try check(for: url, addressPolicy ?? configuration.addressPolicy)
        return url
    }

    /// Like ``checkedURL(_:known:)``, for a URL that can be the target of a redirect.
    func check(for url: OriginURL, _ policy: AddressPolicy) throws(OriginError) {
        if let rule = policy.refusal(ofHost: url.host, port: url.port) {
            throw OriginError(.addressRefused(rule: rule))
        }
        guard url.scheme != "ftp" || (method == .get && body == nil) else {
            throw OriginError(.requestInvalid("FTP supports only reading"))
        }
    }

    /// Only the caller can decide whether a request that changes data has the same meaning at the new URL.
    var mayBeRedirected: Bool {
        followsRedirects && body == nil && (method == .get || method == .head)
    }

    /// Whether the request authenticates its connection, which must then carry no other request.
    var isForOneConnection: Bool {
        fields[values: .authorization].contains(where: ConnectionCredentials.areNamed)
    }

    /// RFC 9110 §9.2.2.
    var isIdempotent: Bool {
        [.get, .head, .options, .trace, .put, .delete].contains(method)
    }
}
