import HTTPTypes

extension OriginRequest {
    /// Checks whether the request can be sent, and returns its URL. Throws the first fault.
    func checkedURL(
        _ configuration: OriginConfiguration, known: inout KnownURLs
    ) throws(OriginError) -> OriginURL {
        let url: OriginURL
        do {
            url = try known.url(of: self)
        } catch {
            throw OriginError(.urlInvalid(error.reason))
        }
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

    /// Checks whether the request can be sent to this URL, which can be the target of a redirect. Throws the first
    /// fault.
    func check(for url: OriginURL, _ policy: AddressPolicy) throws(OriginError) {
        // Rules about host names are checked before the DNS look-up.
        if let rule = policy.refusal(ofHost: url.host, port: url.port) {
            throw OriginError(.addressRefused(rule: rule))
        }
        guard url.scheme != "ftp" || (method == .get && body == nil) else {
            throw OriginError(.requestInvalid("FTP supports only reading"))
        }
    }

    /// Whether the client follows redirects of this request. Only the caller can decide about a request that changes
    /// data, because it may have another meaning at the new URL.
    var mayBeRedirected: Bool {
        followsRedirects && body == nil && (method == .get || method == .head)
    }
}

extension HTTPRequest.Method {
    /// Whether sending the request twice has the same effect as sending it once (RFC 9110 §9.2.2).
    var isIdempotent: Bool {
        [.get, .head, .options, .trace, .put, .delete].contains(self)
    }
}
