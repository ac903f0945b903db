import Primitives

/// Filters of one purge that differ only in their tags: what is held against one filter of many tags is compared once.
struct PurgeScope: Sendable {
    /// What the filters state, but for the tag.
    private(set) var filter: EntryFilter
    /// Their tags; `nil` when one states none: then it means whatever the others do.
    private(set) var tags: Set<ExactText>?

    /// The scopes of what matches any of `filters`, in their order.
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

    /// Whether it means the entry that is held under a key which `filter` means already.
    func means(_ held: HeldSummary, now: Timestamp) -> Bool {
        if let kind = filter.kind, kind.code != held.kindCode { return false }
        switch filter.state {
        case .fresh where held.expiryDate <= now, .stale where held.expiryDate > now: return false
        case .fresh, .stale, nil: break
        }
        guard let tags else { return true }
        return held.tags.contains { tags.contains(ExactText($0)) }
    }

    /// A filter without its tag, equal to another when the bytes of its texts are.
    private struct Statement: Hashable {
        private var texts: [ExactText?]
        private var state: EntryFilter.State?
        private var kind: Entry.Kind?

        init(_ filter: EntryFilter) {
            texts = [filter.key, filter.md5, filter.url, filter.prefix, filter.host].map { $0.map(ExactText.init) }
            state = filter.state
            kind = filter.kind
        }
    }
}

/// What a purge must know of an entry that is held.
struct HeldSummary {
    var kindCode: Int
    var expiryDate: Timestamp
    var tags: [String]
}
