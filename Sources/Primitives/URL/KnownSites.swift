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

    /// How many there are before they are all forgotten.
    private static let limit = 1000
    /// A longer beginning is not remembered: no host's name has more than 253 bytes.
    private static let lengthLimit = 300

    private let sites = Locked<[ExactText: Site]>([:])

    /// The site that a URL's beginning names, as `read` says. What is no site is read again each time.
    func site(_ beginning: String, read: (String) throws(InvalidURL) -> Site) throws(InvalidURL) -> Site {
        let name = ExactText(beginning)
        if let site = sites.withLock({ $0[name] }) { return site }
        let site = try read(beginning)
        guard beginning.utf8.count <= Self.lengthLimit else { return site }
        // Those that are forgotten go after the lock is released.
        var forgotten: [ExactText: Site] = [:]
        sites.withLock { sites in
            if sites.count >= Self.limit { swap(&sites, &forgotten) }
            sites[name] = site
        }
        return site
    }
}
