import Primitives

/// The filters of a purge that differ only in their tags. Matching them together compares the other fields only once.
struct PurgeScope: Sendable {
    private(set) var filter: EntryFilter
    /// `nil` when a filter has no tag: then the scope matches entries with any tags.
    private(set) var tags: Set<ExactText>?

    static func scopes(of filters: [EntryFilter]) -> [PurgeScope] {
        var scopes: [PurgeScope] = []
        var positions: [Statement: Int] = [:]
        for filter in filters {
            let statement = Statement(filter)
            if let position = positions[statement] {
                scopes[position].add(filter.tag)
            } else {
                positions[statement] = scopes.count
                scopes.append(PurgeScope(filter))
            }
        }
        return scopes
    }

    private init(_ filter: EntryFilter) {
        self.filter = filter
        self.filter.tag = nil
        tags = filter.tag.map { [ExactText($0)] }
    }

    private mutating func add(_ tag: String?) {
        guard let tag else {
            tags = nil
            return
        }
        tags?.insert(ExactText(tag))
    }

    /// Matches by kind, state and tags. The caller has matched the key and the URL.
    func means(_ held: HeldSummary, now: Timestamp) -> Bool {
        if let kind = filter.kind, kind.code != held.kindCode { return false }
        switch filter.state {
        case .fresh where held.expiryDate <= now, .stale where held.expiryDate > now: return false
        case .fresh, .stale, nil: break
        }
        guard let tags else { return true }
        return held.tags.contains { tags.contains(ExactText($0)) }
    }

    /// A filter without its tag. Two statements are equal when the bytes of their texts are.
    private struct Statement: Hashable {
        private var texts: [ExactText?]
        private var urlPrefixes: [ExactText]?
        private var state: EntryFilter.State?
        private var kind: Entry.Kind?

        init(_ filter: EntryFilter) {
            texts = [filter.key, filter.md5, filter.url, filter.prefix, filter.host].map { $0.map(ExactText.init) }
            urlPrefixes = filter.urlPrefixes?.map(ExactText.init)
            state = filter.state
            kind = filter.kind
        }
    }
}
