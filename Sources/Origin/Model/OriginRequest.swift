import CCurl
import HTTPTypes
import Primitives

/// A request to an origin; a `GET` by default.
package struct OriginRequest: Sendable {
    /// Absolute; sent byte for byte without its fragment. ``requestTarget`` can replace its target.
    package var url: String
    /// `CONNECT` is refused, and for FTP every method except `GET`. Idempotent methods (RFC 9110 §9.2.2) are sent again
    /// after a failure (``RetryPolicy``, ``mayRepeat``), other methods only if their connection could not be opened.
    package var method: HTTPRequest.Method = .get
    /// The target of the request line, byte for byte: `*`, or a path and query that a URL parser would change, such as
    /// a bare `?` at the end. Without spaces and control characters. For the first request only, not for FTP.
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
    /// `HEAD` with a body is refused. The body is sent over an HTTP/1.1 connection of its own, without waiting for `100
    /// Continue`. Only an unread body is sent again. A final response with a status from 300 on closes the body.
    package var body: OriginUpload?
    /// The limit in bytes of each: the received body, the decoded body, and the result of the first of two decodings.
    package var sizeLimit = Int64.max
    /// Whether the client asks for content codings (gzip, br, zstd) and decodes them (also deflate; at most two
    /// codings). Not decoded: a body without bytes, and a file with the name or the media type of a compressed format.
    /// A body that cannot be decoded to its end fails with ``OriginError/Kind/contentCoding(_:)``.
    package var decodesContent = true
    /// Whether the client follows 301, 302, 303, 307 and 308 with a `Location`. A request with a ``body`` or a method
    /// other than `GET` and `HEAD` is never redirected. The receiver gets an unfollowed redirect like any response.
    package var followsRedirects = true
    /// Whether an idempotent request may be sent again when it may already have reached the origin: by the client
    /// (``RetryPolicy``), or by libcurl when a reused connection ends without an answer, which no caller learns. With
    /// `false`, the request has a connection of its own, and is sent again only if this could not be opened.
    package var mayRepeat = true
    /// `nil` means ``OriginConfiguration/addressPolicy``. The policy applies to a reused connection, too.
    package var addressPolicy: AddressPolicy?

    package init(url: String) {
        self.url = url
    }

    /// The scheme, host and port of ``url``, such as `https://example.com:443`; `nil` for a URL that is not valid.
    package var origin: String? { try? OriginURL(url).origin }
}

extension OriginRequest {
    /// Returns the parsed URL. Throws the first fault that keeps the request from being sent.
    func checkedURL(
        _ configuration: OriginConfiguration, known: inout KnownURLs
    ) throws(OriginError) -> OriginURL {
        let url = try Result { () throws(OriginURL.Invalid) in try known.url(of: self) }
            .mapError { OriginError(.urlInvalid($0.reason)) }.get()
        guard configuration.allows(url.scheme) else { throw OriginError(.schemeRefused(url.scheme)) }
        guard !url.host.isEmpty else { throw OriginError(.urlInvalid("it has no host")) }
        // A `CONNECT` creates a tunnel and has no response with a body (RFC 9110 §9.3.6).
        guard method != .connect else { throw OriginError(.requestInvalid("CONNECT is not supported")) }
        // libcurl would omit the body, which has no meaning for HEAD (RFC 9110 §9.3.2).
        guard method != .head || body == nil else { throw OriginError(.requestInvalid("HEAD has no body")) }
        if let requestTarget, requestTarget != "*" {
            guard requestTarget.utf8.first == 0x2f, requestTarget.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7f }) else {
                throw OriginError(.requestInvalid("its target is not a path, or contains invalid characters"))
            }
        }
        try check(for: url, addressPolicy ?? configuration.addressPolicy)
        return url
    }

    /// Throws if the request may not be sent to a URL. The URL can be the target of a redirect.
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

    /// Whether the request authenticates its connection. The connection must then carry no other request.
    var isForOneConnection: Bool {
        fields[values: .authorization].contains(where: ConnectionCredentials.areNamed)
    }

    /// Whether the method is idempotent (RFC 9110 §9.2.2), and the caller permits repetitions.
    var isRepeatable: Bool {
        mayRepeat && [.get, .head, .options, .trace, .put, .delete].contains(method)
    }
}

/// A URL in parts. libcurl's own parser splits the URL, so that the client checks the same URL that libcurl fetches.
struct OriginURL: Hashable {
    /// The whole URL, with an ASCII host and without a fragment.
    let text: String
    /// In lower case.
    let scheme: String
    /// In punycode; an IPv6 address has brackets.
    let host: String
    /// The port of the URL; the default port of the scheme when the URL has none.
    let port: UInt16
    /// The scheme, host and port. The limit per host applies to each origin. Cookies and credentials stay within one.
    var origin: String { "\(scheme)://\(AddressRule.comparable(host)):\(port)" }

    /// The host as an address; `nil` when the host is a name.
    var address: IPAddress? {
        let name = AddressRule.comparable(host)
        return IPAddress(name.hasPrefix("[") ? name.dropFirst().dropLast() : name[...])
    }
}

extension OriginURL {
    struct Invalid: Error {
        let reason: String
    }

    /// Parses an absolute URL and leaves its path unchanged.
    init(_ text: String) throws(Invalid) {
        self = try Self.read { url throws(CurlURLHandle.Failure) in
            try url.set(CURLUPART_URL, text, CURLU_PATH_AS_IS | Self.flags)
        }
    }

    /// Resolves a `Location` (RFC 9110 §10.2.2, RFC 3986 §5.2). Spaces and non-ASCII bytes are escaped.
    init(location: [UInt8], of base: OriginURL) throws(Invalid) {
        self = try Self.read { url throws(CurlURLHandle.Failure) in
            try url.set(CURLUPART_URL, base.text, CURLU_PATH_AS_IS | Self.flags)
            // An empty reference, and a reference that is only a fragment, mean the base URL with its query (RFC 3986
            // §5.2.2). libcurl 7.88 refuses an empty reference and drops the base's query for a fragment.
            guard let first = location.first, first != UInt8(ascii: "#") else { return }
            // A fragment is not sent to the origin, and a `?` in a fragment does not begin a query.
            let reference = location.prefix { $0 != UInt8(ascii: "#") }.map(CChar.init(bitPattern:)) + [0]
            try url.set(CURLUPART_URL, reference, CURLU_URLENCODE | CURLU_ALLOW_SPACE | Self.flags)
        }
    }

    /// A URL with an unknown scheme is parsed, so that the client can refuse the scheme by name.
    private static let flags = CURLU_DISALLOW_USER | CURLU_NON_SUPPORT_SCHEME

    private static func read(
        _ set: (borrowing CurlURLHandle) throws(CurlURLHandle.Failure) -> Void
    ) throws(Invalid) -> OriginURL {
        let url = CurlURLHandle()
        do throws(CurlURLHandle.Failure) {
            try set(url)
            try url.set(CURLUPART_FRAGMENT, nil)
            let scheme = try url.get(CURLUPART_SCHEME) ?? ""
            // A URL without a host, such as `file:///etc/passwd`, has no origin to connect to.
            let host = try url.get(CURLUPART_HOST, CURLU_PUNYCODE) ?? ""
            if try url.get(CURLUPART_ZONEID) == nil {
                let port = try url.get(CURLUPART_PORT, CURLU_DEFAULT_PORT).flatMap { UInt16($0) } ?? 0
                let text = try url.get(CURLUPART_URL, CURLU_PUNYCODE) ?? ""
                return OriginURL(text: text, scheme: scheme.lowercased(), host: host, port: port)
            }
        } catch {
            throw Invalid(reason: error.words)
        }
        throw Invalid(reason: "the host has a zone")
    }
}

/// Remembers parsed URLs of requests with a ``OriginRequest/requestTarget``, which use one URL for a whole site.
struct KnownURLs {
    private(set) var urls = BoundedMemo<ExactText, OriginURL>(limit: ExactURL.knownSiteLimit)

    mutating func url(of request: OriginRequest) throws(OriginURL.Invalid) -> OriginURL {
        let text = ExactText(request.url)
        if let url = urls[text] { return url }
        let url = try OriginURL(request.url)
        if request.requestTarget != nil, request.url.utf8.count <= ExactURL.siteLengthLimit {
            _ = urls.remember(url, for: text)
        }
        return url
    }
}
