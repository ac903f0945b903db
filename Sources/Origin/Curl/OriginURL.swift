import CCurl

/// A URL in parts. libcurl's own parser splits the URL, so that the client checks the same URL that libcurl fetches.
struct OriginURL: Hashable {
    /// The whole URL, with an ASCII host and without a fragment.
    let text: String
    /// The scheme in lower case.
    let scheme: String
    /// The host as in the URL, in punycode; an IPv6 address has brackets.
    let host: String
    /// The port; the default of the scheme when the URL has none.
    let port: UInt16

    /// A text is not a URL; `reason` says why.
    struct Invalid: Error {
        let reason: String
    }

    /// Parses an absolute URL and leaves its path unchanged. Throws ``Invalid``.
    init(_ text: String) throws(Invalid) {
        let parser = try Parser()
        try parser.set(CURLUPART_URL, text, CURLU_PATH_AS_IS)
        self = try parser.url()
    }

    /// Resolves the bytes of a `Location` against the URL of the response (RFC 9110 §10.2.2, RFC 3986 §5.2). As in
    /// browsers, spaces and bytes outside ASCII are escaped. Throws ``Invalid``.
    init(location: [UInt8], of base: OriginURL) throws(Invalid) {
        let parser = try Parser()
        try parser.set(CURLUPART_URL, base.text, CURLU_PATH_AS_IS)
        // An empty reference, and a reference that is only a fragment, mean the base itself with its query (RFC 3986
        // §5.2.2). libcurl 7.88 refuses an empty reference and drops the query for a fragment.
        if let first = location.first, first != UInt8(ascii: "#") {
            // A fragment is for the user, and a `?` in it does not begin a query.
            let reference = location.prefix { $0 != UInt8(ascii: "#") } + [0]
            try parser.set(CURLUPART_URL, Array(reference), CURLU_URLENCODE | CURLU_ALLOW_SPACE)
        }
        self = try parser.url()
    }

    private init(text: String, scheme: String, host: String, port: UInt16) {
        self.text = text
        self.scheme = scheme
        self.host = host
        self.port = port
    }

    /// The scheme, host and port, to which connections and limits belong.
    var origin: String { "\(scheme)://\(AddressRule.comparable(host)):\(port)" }

    /// The IP address in the host; `nil` when the host is a name.
    var address: IPAddress? {
        let name = AddressRule.comparable(host)
        return IPAddress(name.hasPrefix("[") ? name.dropFirst().dropLast() : name[...])
    }

    /// Owns a handle of the parser.
    private struct Parser: ~Copyable {
        private let handle: OpaquePointer

        init() throws(Invalid) {
            guard let handle = curl_url() else { throw Invalid(reason: "out of memory") }
            self.handle = handle
        }

        deinit {
            curl_url_cleanup(handle)
        }

        func set(_ part: CURLUPart, _ text: String, _ flags: Int32) throws(Invalid) {
            try set(part, Array(text.utf8) + [0], flags)
        }

        /// Sets a part.
        ///
        /// - Parameter bytes: the text of the part, with a NUL at the end.
        func set(_ part: CURLUPart, _ bytes: [UInt8], _ flags: Int32) throws(Invalid) {
            // An unknown scheme is parsed, too, so that the client can refuse it by name.
            let flags = UInt32(flags | CURLU_DISALLOW_USER | CURLU_NON_SUPPORT_SCHEME)
            let code = bytes.withUnsafeBytes { bytes in
                curl_url_set(handle, part, bytes.assumingMemoryBound(to: CChar.self).baseAddress, flags)
            }
            try Self.check(code)
        }

        func url() throws(Invalid) -> OriginURL {
            try Self.check(curl_url_set(handle, CURLUPART_FRAGMENT, nil, 0))
            let scheme = try get(CURLUPART_SCHEME) ?? ""
            // A URL without `//` and a host, such as `file:///etc/passwd`, has no origin to connect to.
            let host = try get(CURLUPART_HOST, CURLU_PUNYCODE) ?? ""
            guard try get(CURLUPART_ZONEID) == nil else { throw Invalid(reason: "the host has a zone") }
            let port = try get(CURLUPART_PORT, CURLU_DEFAULT_PORT).flatMap { UInt16($0) } ?? 0
            let text = try get(CURLUPART_URL, CURLU_PUNYCODE) ?? ""
            return OriginURL(text: text, scheme: scheme.lowercased(), host: host, port: port)
        }

        private func get(_ part: CURLUPart, _ flags: Int32 = 0) throws(Invalid) -> String? {
            var text: UnsafeMutablePointer<CChar>?
            let code = curl_url_get(handle, part, &text, UInt32(flags))
            defer { curl_free(text) }
            switch code {
            case CURLUE_NO_HOST, CURLUE_NO_PORT, CURLUE_NO_ZONEID: return nil
            default:
                try Self.check(code)
                return text.map { String(cString: $0) }
            }
        }

        private static func check(_ code: CURLUcode) throws(Invalid) {
            guard code == CURLUE_OK else { throw Invalid(reason: String(cString: curl_url_strerror(code))) }
        }
    }
}
