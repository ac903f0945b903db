import HTTPTypes

extension OriginRequest {
    /// The URL, when it and the rest of the request can be sent. Throws what is wrong.
    func checkedURL(
        _ configuration: OriginClient.Configuration, known: inout KnownURLs
    ) throws(OriginError) -> OriginURL {
        let url: OriginURL
        do {
            url = try known.url(of: self)
        } catch {
            throw OriginError(.urlInvalid(error.reason))
        }
        guard configuration.allows(url.scheme) else { throw OriginError(.schemeRefused(url.scheme)) }
        guard !url.host.isEmpty else { throw OriginError(.urlInvalid("it has no host")) }
        // It makes a tunnel, not an answer (RFC 9110 §9.3.6).
        guard method != .connect else { throw OriginError(.requestInvalid("CONNECT is for proxies")) }
        // libcurl would leave the body out (RFC 9110 §9.3.2: it has no meaning).
        guard method != .head || body == nil else { throw OriginError(.requestInvalid("HEAD has no body")) }
        if let requestTarget, requestTarget != "*" {
            guard requestTarget.utf8.first == 0x2f, requestTarget.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7f }) else {
                throw OriginError(.requestInvalid("its target is no path, or has characters that none may have"))
            }
        }
        try check(for: url, addressPolicy ?? configuration.addressPolicy)
        return url
    }

    /// Whether the request can be made of this URL, a redirect's too. Throws what is wrong.
    func check(for url: OriginURL, _ policy: AddressPolicy) throws(OriginError) {
        // Before anybody is asked for its address.
        if let rule = policy.refusal(ofHost: url.host, port: url.port) {
            throw OriginError(.addressRefused(rule: rule))
        }
        guard url.scheme != "ftp" || (method == .get && body == nil) else {
            throw OriginError(.requestInvalid("FTP is for reading"))
        }
    }

    /// Whether redirects are followed: what a request that changes something means elsewhere is for the caller to say.
    var mayBeRedirected: Bool {
        followsRedirects && body == nil && (method == .get || method == .head)
    }
}

extension HTTPRequest.Method {
    /// Whether sending it twice is the same as sending it once (RFC 9110 §9.2.2).
    var isIdempotent: Bool {
        [.get, .head, .options, .trace, .put, .delete].contains(self)
    }
}
