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
    /// The URL (with its parameters), exactly. A response, whose URL is as it was sent, matches by its canonical URL,
    /// too.
    public var url: String?
    /// How the URL, or the key of ``Entry/Kind/data``, begins; compared byte by byte. A response matches by its
    /// canonical URL, too.
    public var prefix: String?
    /// The host of the URL in lower case, without its port and without the dot that may end a name: a URL with that dot
    /// matches, too.
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

extension EntryFilter {
    /// The spellings of ``host`` that URLs have.
    var hosts: [String]? { host.map { [$0, $0 + "."] } }

    /// Something that a filter can state.
    enum Condition: CaseIterable {
        case key, md5, url, tag, host, prefix, kind, state
    }

    /// What it states.
    var conditions: [Condition] {
        Condition.allCases.filter { condition in
            switch condition {
            case .key: key != nil
            case .md5: md5 != nil
            case .url: url != nil
            case .tag: tag != nil
            case .host: host != nil
            case .prefix: prefix?.isEmpty == false
            case .kind: kind != nil
            case .state: state != nil
            }
        }
    }

    /// A filter that states those of its conditions alone.
    func keeping(_ conditions: Set<Condition>) -> EntryFilter {
        EntryFilter(
            key: conditions.contains(.key) ? key : nil, md5: conditions.contains(.md5) ? md5 : nil,
            url: conditions.contains(.url) ? url : nil, prefix: conditions.contains(.prefix) ? prefix : nil,
            host: conditions.contains(.host) ? host : nil, tag: conditions.contains(.tag) ? tag : nil,
            state: conditions.contains(.state) ? state : nil, kind: conditions.contains(.kind) ? kind : nil)
    }
}
