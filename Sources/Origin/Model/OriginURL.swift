import CCurl
import Primitives

/// A URL in parts. libcurl's own parser splits the URL, so that the client checks the same URL that libcurl fetches.
struct OriginURL: Hashable {
    /// The whole URL, with an ASCII host and without a fragment.
    let text: String
    /// In lower case.
    let scheme: String
    /// In punycode; an IPv6 address has brackets.
    let host: String
    /// The default of the scheme when the URL has none.
    let port: UInt16
    /// The scheme, host and port, to which connections and limits belong.
    var origin: String { "\(scheme)://\(AddressRule.comparable(host)):\(port)" }

    /// `nil` when the host is a name.
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

    /// Resolves a `Location` (RFC 9110 §10.2.2, RFC 3986 §5.2). Spaces and bytes outside ASCII are escaped.
    init(location: [UInt8], of base: OriginURL) throws(Invalid) {
        self = try Self.read { url throws(CurlURLHandle.Failure) in
            try url.set(CURLUPART_URL, base.text, CURLU_PATH_AS_IS | Self.flags)
            // An empty reference, and a reference that is only a fragment, mean the base itself with its query (RFC
            // 3986 §5.2.2). libcurl 7.88 refuses an empty reference and drops the query for a fragment.
            guard let first = location.first, first != UInt8(ascii: "#") else { return }
            // A fragment is for the user, and a `?` in it does not begin a query.
            let reference = location.prefix { $0 != UInt8(ascii: "#") }.map(CChar.init(bitPattern:)) + [0]
            try url.set(CURLUPART_URL, reference, CURLU_URLENCODE | CURLU_ALLOW_SPACE | Self.flags)
        }
    }

    /// An unknown scheme is parsed, too, so that the client can refuse it by name.
    private static let flags = CURLU_DISALLOW_USER | CURLU_NON_SUPPORT_SCHEME

    private static func read(
        _ set: (borrowing CurlURLHandle) throws(CurlURLHandle.Failure) -> Void
    ) throws(Invalid) -> OriginURL {
        let url = CurlURLHandle()
        do throws(CurlURLHandle.Failure) {
            try set(url)
            try url.set(CURLUPART_FRAGMENT, nil)
            let scheme = try url.get(CURLUPART_SCHEME) ?? ""
            // A URL without `//` and a host, such as `file:///etc/passwd`, has no origin to connect to.
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

/// Remembers parsed URLs of requests with a separate target, because such requests use the same URL for a whole site.
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
