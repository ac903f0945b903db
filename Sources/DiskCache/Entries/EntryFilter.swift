import Primitives

/// Which entries a listing, a count or a purge means: those that match everything that is stated.
public struct EntryFilter: Hashable, Sendable {
    /// Whether an entry is still fresh.
    public enum State: String, Hashable, Sendable, CaseIterable {
        /// Not expired yet.
        case fresh
        /// Expired.
        case stale
    }

    /// The key, exactly.
    public var key: String?
    /// The MD5 of a URL: what was downloaded or stored under it, and every variant of its responses.
    public var md5: String?
    /// The canonical URL (with its parameters), exactly.
    public var url: String?
    /// How the canonical URL, or the key of ``Entry/Kind/data``, begins; compared byte by byte.
    public var prefix: String?
    /// The host of the URL in lower case, without its port.
    public var host: String?
    /// A tag that the entry must have.
    public var tag: String?
    /// Whether it is fresh, now.
    public var state: State?
    /// Where it came from.
    public var kind: Entry.Kind?

    /// A filter that states nothing: every entry matches it.
    public static let all = EntryFilter()

    /// A filter that states what is given.
    public init(
        key: String? = nil, md5: String? = nil, url: String? = nil, prefix: String? = nil, host: String? = nil,
        tag: String? = nil, state: State? = nil, kind: Entry.Kind? = nil
    ) {
        self.key = key
        self.md5 = md5
        self.url = url
        self.prefix = prefix
        self.host = host
        self.tag = tag
        self.state = state
        self.kind = kind
    }
}
