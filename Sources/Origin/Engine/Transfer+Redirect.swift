import HTTPTypes

extension Transfer {
    /// Goes to the next hop, whose URL it checks, and drops fields that are not for it.
    ///
    /// Redirects are followed here and not by libcurl: so each hop's scheme and credentials are checked in our words,
    /// the address rules by host name see the hop's own host, and the receiver gets the final answer only.
    func follow(_ location: [UInt8], _ configuration: OriginClient.Configuration) throws(OriginError) {
        guard redirectCount < configuration.maxRedirects else {
            throw OriginError(.tooManyRedirects(limit: configuration.maxRedirects))
        }
        let next: OriginURL
        do {
            next = try OriginURL(location: location, of: url)
        } catch {
            throw OriginError(.redirectInvalid(error.reason))
        }
        guard configuration.allows(next.scheme) else { throw OriginError(.schemeRefused(next.scheme)) }
        guard !next.host.isEmpty else { throw OriginError(.redirectInvalid("it has no host")) }
        do {
            try request.check(for: next, request.addressPolicy ?? configuration.addressPolicy)
        } catch {
            throw error.afterRedirect
        }
        redirectCount += 1
        requestTarget = nil
        if next.origin != url.origin { fields = fields.withoutIdentity }
        url = next
    }
}

extension OriginError {
    /// The same where it happened behind a redirect: who asked for another address is told how it came to this one.
    var afterRedirect: OriginError {
        guard case .addressRefused(let rule) = kind else { return self }
        return OriginError(.addressRefused(rule: "\(rule), where a redirect leads"))
    }
}

extension OriginClient.Configuration {
    func allows(_ scheme: String) -> Bool {
        schemes.contains(scheme) && OriginClient.possibleSchemes.contains(scheme)
    }
}

extension Transfer {
    /// Tells callers with credentials apart: equal for requests that say the same about who asks; `nil` for a request
    /// without credentials.
    var caller: Int? {
        var hasher = Hasher()
        var isKnown = false
        for field in fields where field.name.mayHaveCredentials {
            isKnown = true
            hasher.combine(field.name)
            field.withUnsafeBytesOfValue { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        }
        if let cookies = cookies[url.origin], !cookies.isEmpty {
            isKnown = true
            hasher.combine(cookies)
        }
        return isKnown ? hasher.finalize() : nil
    }
}

extension HTTPField.Name {
    /// Whether a field of that name says who asks, as its name tells.
    fileprivate var mayHaveCredentials: Bool {
        self == .authorization || self == .cookie || self == .proxyAuthorization
            || ["auth", "token", "key", "secret", "session"].contains { canonicalName.contains($0) }
    }
}

extension HTTPFields {
    /// Only those that say nothing about who asks. A list of what is harmless: a field that nobody here knows, an API
    /// key for instance, was meant for the first origin.
    fileprivate var withoutIdentity: HTTPFields {
        var kept = HTTPFields()
        for field in self where Self.harmless.contains(field.name) { kept.append(field) }
        return kept
    }

    private static let harmless: Set<HTTPField.Name> = [
        .accept, .acceptEncoding, .acceptLanguage, HTTPField.Name("Accept-Charset")!, .cacheControl,
        HTTPField.Name("Pragma")!, .userAgent, .range, .ifMatch, .ifNoneMatch, .ifModifiedSince, .ifUnmodifiedSince,
        .ifRange,
    ]
}
