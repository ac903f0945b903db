/// Remembers the sites of recent URLs by the beginnings of these URLs. Most requests are for few sites, and splitting
/// each URL with libcurl would cost more than all other work of reading it.
final class KnownSites: Sendable {
    /// The part of a URL before its path.
    struct Site: Sendable {
        let scheme: String
        let authority: String
        /// Scheme and authority, up to the path.
        let text: String

        init(scheme: String, authority: String) {
            self.scheme = scheme
            self.authority = authority
            text = "\(scheme)://\(authority)"
        }
    }

    static let shared = KnownSites()

    private let sites = Locked(BoundedMemo<ExactText, Site>(limit: ExactURL.knownSiteLimit))

    /// Returns the site that a URL's beginning names; `read` determines it the first time. Failures are not remembered.
    func site(_ beginning: String, read: (String) throws(InvalidURL) -> Site) throws(InvalidURL) -> Site {
        let name = ExactText(beginning)
        if let site = sites.withLock({ $0[name] }) { return site }
        let site = try read(beginning)
        if beginning.utf8.count <= ExactURL.siteLengthLimit {
            _ = sites.withLock { $0.remember(site, for: name) }
        }
        return site
    }
}

extension ExactURL {
    /// The most sites that are remembered: 1,000.
    package static let knownSiteLimit = 1000
    /// The longest beginning that is remembered, in bytes: 300, because a host name has at most 253.
    package static let siteLengthLimit = 300
}
