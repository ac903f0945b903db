/// What the beginnings of URLs that came before mean: most requests are for few sites, and to have libcurl take each
/// URL apart costs more than all the rest of reading it.
final class KnownSites: Sendable {
    /// What stands before a URL's path.
    struct Site: Sendable {
        let scheme: String
        let authority: String
        /// Both, up to the path.
        let text: String

        init(scheme: String, authority: String) {
            self.scheme = scheme
            self.authority = authority
            text = "\(scheme)://\(authority)"
        }
    }

    static let shared = KnownSites()

    private let sites = Locked(BoundedMemo<ExactText, Site>(limit: ExactURL.knownSiteLimit))

    /// The site that a URL's beginning names, as `read` says. What is no site is read again each time.
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
    /// How many sites are worth remembering at a time: 1,000.
    public static let knownSiteLimit = 1000
    /// The bytes of a beginning that is worth remembering, at most: 300, for no host's name has more than 253.
    public static let siteLengthLimit = 300
}
