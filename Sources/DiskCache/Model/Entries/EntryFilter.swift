import Primitives

/// Selects the entries for a listing, a count or a purge. An entry matches when it meets every condition that is set.
package struct EntryFilter: Hashable, Sendable {
    /// Whether an entry is still fresh.
    package enum State: String, Hashable, Sendable, CaseIterable {
        case fresh
        case stale
    }

    package var key: String?
    /// The MD5 of a URL. Matches the entry that was downloaded or stored under this URL, and every response to a URL
    /// with this MD5, as sent or in canonical spelling.
    package var md5: String?
    /// The exact URL, with its parameters. A response matches by its URL as sent and by its canonical URL.
    package var url: String?
    /// The beginning of the URL, or of the key of a ``Entry/Kind/data`` entry, compared byte by byte. A response also
    /// matches by its canonical URL.
    package var prefix: String?
    /// The beginnings of URLs when they differ from ``prefix``, which then applies only to keys. A URL matches when it
    /// begins with at least one of these texts. `nil`, the default: URLs and keys begin with ``prefix``.
    package var urlPrefixes: [String]?
    /// The host of the canonical URL, without its port. A response with another spelling of the host in its URL as
    /// sent matches, too.
    package var host: String?
    package var tag: String?
    /// Whether the entry is fresh at the time of the search.
    package var state: State?
    package var kind: Entry.Kind?
    package static let all = EntryFilter()

    package init(
        key: String? = nil, md5: String? = nil, url: String? = nil, prefix: String? = nil, urlPrefixes: [String]? = nil,
        host: String? = nil,
        tag: String? = nil, state: State? = nil, kind: Entry.Kind? = nil
    ) {
        self.key = key
        self.md5 = md5
        self.url = url
        self.prefix = prefix
        self.urlPrefixes = urlPrefixes
        self.host = host
        self.tag = tag
        self.state = state
        self.kind = kind
    }
}

extension EntryFilter {
    /// The beginnings of the URLs that match ``prefix``.
    var urlBeginnings: [String] { urlPrefixes ?? prefix.map { [$0] } ?? [] }

    enum Condition: CaseIterable {
        case key, md5, url, tag, host, prefix, kind, state
    }

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

    func keeping(_ conditions: Set<Condition>) -> EntryFilter {
        EntryFilter(
            key: conditions.contains(.key) ? key : nil, md5: conditions.contains(.md5) ? md5 : nil,
            url: conditions.contains(.url) ? url : nil, prefix: conditions.contains(.prefix) ? prefix : nil,
            urlPrefixes: conditions.contains(.prefix) ? urlPrefixes : nil,
            host: conditions.contains(.host) ? host : nil, tag: conditions.contains(.tag) ? tag : nil,
            state: conditions.contains(.state) ? state : nil, kind: conditions.contains(.kind) ? kind : nil)
    }
}
