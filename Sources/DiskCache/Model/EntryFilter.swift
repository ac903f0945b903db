/// Selects the entries that meet every set condition. A response matches by its URL as sent and its canonical URL.
package struct EntryFilter: Hashable, Sendable {
    package enum State: String, Hashable, Sendable, CaseIterable {
        case fresh
        case stale
    }

    package var key: String?
    /// The MD5 of the URL of a response, or of a download or JSON without request fields.
    package var md5: String?
    /// The whole URL, with the parameters.
    package var url: String?
    /// The beginning of the URL, or of the key of a ``Entry/Kind/data`` entry, compared byte by byte.
    package var prefix: String?
    /// The beginnings of URLs that ``prefix`` means. If set, ``prefix`` itself is compared with keys, not with URLs.
    package var urlPrefixes: [String]?
    /// The host of the canonical URL, without the port. A response's URL as sent may spell it differently.
    package var host: String?
    package var tag: String?
    package var state: State?
    package var kind: Entry.Kind?
    package static let all = EntryFilter()

    package init(
        key: String? = nil, md5: String? = nil, url: String? = nil, prefix: String? = nil, urlPrefixes: [String]? = nil,
        host: String? = nil, tag: String? = nil, state: State? = nil, kind: Entry.Kind? = nil
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

    /// The conditions in a fixed order, without ``urlPrefixes``.
    var texts: [String?] { [key, md5, url, prefix, host, tag, state?.rawValue, kind?.rawValue] }
    var urlBeginnings: [String] { urlPrefixes ?? prefix.map { [$0] } ?? [] }

    /// Whether the filter names one key or URL. Only such a purge removes held entries.
    var namesResource: Bool { key != nil || md5 != nil || url != nil }

    enum Condition: CaseIterable {
        case key, md5, url, tag, host, prefix, kind, state
    }

    var conditions: [Condition] {
        Condition.allCases.filter { $0 == .prefix ? prefix?.isEmpty == false : keeping([$0]) != .all }
    }

    func keeping(_ conditions: Set<Condition>) -> EntryFilter {
        func kept<Value>(_ condition: Condition, _ value: Value?) -> Value? {
            conditions.contains(condition) ? value : nil
        }
        return EntryFilter(
            key: kept(.key, key), md5: kept(.md5, md5), url: kept(.url, url), prefix: kept(.prefix, prefix),
            urlPrefixes: kept(.prefix, urlPrefixes), host: kept(.host, host), tag: kept(.tag, tag),
            state: kept(.state, state), kind: kept(.kind, kind))
    }
}

package struct EntrySort: Hashable, Sendable {
    package enum Order: String, Hashable, Sendable, CaseIterable {
        /// The only order that skips or repeats no entry while entries change.
        case key
        /// Entries without a URL come first.
        case url
        /// Has no index, so each page examines every entry that the filter lets through.
        case contentLength
        case expiryDate
        /// The last access at the last flush: a second ago, or longer while more entries are read than flushes write.
        case lastAccessDate
        /// The hits at the entry's last flush. Has no index; see ``contentLength``.
        case hits
    }

    package var order: Order
    package var descending: Bool
    package static let key = EntrySort(.key)

    package init(_ order: Order, descending: Bool = false) {
        self.order = order
        self.descending = descending
    }
}

package struct EntryPage: Sendable {
    package var entries: [Entry]
    /// `nil` on the last page.
    package var nextCursor: String?
}

package struct CacheTotals: Hashable, Sendable {
    package var entries: Int64
    package var bodyBytes: Int64
    /// The bytes that count against the disk limit: bodies in whole blocks, and an overhead for each row.
    package var diskBytes: Int64
    /// A kind without entries may be missing.
    package var entriesByKind: [Entry.Kind: Int64]
    package static let none = CacheTotals(entries: 0, bodyBytes: 0, diskBytes: 0, entriesByKind: [:])

    package static func + (one: CacheTotals, other: CacheTotals) -> CacheTotals {
        CacheTotals(
            entries: one.entries + other.entries, bodyBytes: one.bodyBytes + other.bodyBytes,
            diskBytes: one.diskBytes + other.diskBytes,
            entriesByKind: one.entriesByKind.merging(other.entriesByKind, uniquingKeysWith: +))
    }
}
