import Glibc
import HTTPTypes

extension Transfer {
    /// Moves to the next hop: checks its URL, and drops the fields that are not meant for it.
    ///
    /// The client follows redirects itself instead of libcurl. It thereby checks the scheme and credentials of each hop
    /// with its own errors, applies the address rules to the host name of each hop, and gives the receiver only the
    /// final response.
    func follow(_ location: [UInt8], _ configuration: OriginConfiguration) throws(OriginError) {
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
    /// The same error with a note that a redirect leads to the address, because the caller asked for a different URL.
    var afterRedirect: OriginError {
        guard case .addressRefused(let rule) = kind else { return self }
        return OriginError(.addressRefused(rule: "\(rule), the target of a redirect"))
    }
}

extension Transfer {
    /// Identifies a caller by its credentials: equal for requests with the same credentials; `nil` for a request
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
    /// Whether the name suggests that the field identifies the caller.
    fileprivate var mayHaveCredentials: Bool {
        self == .authorization || self == .cookie || self == .proxyAuthorization
            || Self.credentialWords.contains(where: canonicalName.contains)
    }

    private static let credentialWords: [StaticString] = ["auth", "token", "key", "secret", "session"]
}

extension String {
    /// Whether the text contains the word. Compares bytes, because `contains` of Foundation took a tenth of a miss.
    fileprivate func contains(_ word: StaticString) -> Bool {
        var text = self
        let length = word.utf8CodeUnitCount
        return text.withUTF8 { bytes in
            (0..<max(0, bytes.count - length + 1)).contains {
                memcmp(bytes.baseAddress! + $0, word.utf8Start, length) == 0
            }
        }
    }
}

extension HTTPFields {
    /// The fields that do not identify the caller. The list contains harmless fields, because an unknown field, such as
    /// an API key, is meant only for the first origin.
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
