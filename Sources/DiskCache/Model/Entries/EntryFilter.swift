import Primitives

/// Selects the entries that meet every set condition. A response matches by its URL as sent and its canonical URL.
package struct EntryFilter: Hashable, Sendable {
    package enum State: String, Hashable, Sendable, CaseIterable {
        case fresh
        case stale
    }

    package var key: String?
    /// The MD5 of the URL of a download or of JSON, without request fields, or of a response's URL.
    package var md5: String?
    /// Exact, with the parameters.
    package var url: String?
    /// The beginning of the URL, or of the key of a ``Entry/Kind/data`` entry, compared byte by byte.
    package var prefix: String?
    /// The beginnings of URLs, one of which must match, when they differ from ``prefix``, which then is for keys only.
    package var urlPrefixes: [String]?
    /// The host of the canonical URL, without the port, however a response's URL as sent spells it.
    package var host: String?
    package var tag: String?
    /// The state at the time of the search.
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
