import Primitives
import Synchronization

/// What is known of a body that is being received.
struct Flight: Sendable {
    /// The key of the entry to be; of a response, before it is known which variant it is, the key of some variant.
    private(set) var key: CacheKey
    let kind: Entry.Kind
    let url: String?
    let host: String?
    /// The canonical URL of a response, when its URL was sent in another spelling.
    private let canonicalURL: String?
    /// Those that are known by now; see ``add(_:)``.
    private(set) var tags: Set<ExactText>
    private var latePurges = LatePurges.ofTags([])
    /// Whether the key is not decided yet: then a purge of any variant means it.
    private(set) var isVariantOpen = false
    /// Whether a purge matched it meanwhile.
    let purged = PurgeMark()

    /// Whether a purge that comes meanwhile may mean it. What an origin sends is as old as the request for it, and may
    /// be what the purge is to get rid of; what a caller stores is new, and acknowledged, when it is published.
    private var isFromOrigin: Bool { kind == .download || kind == .response }

    init(key: CacheKey, kind: Entry.Kind, url: String?, tags: [String], isVariantOpen: Bool = false) {
        self.key = key
        self.kind = kind
        self.url = url
        host = url.map { URLParts.host(of: $0) }
        canonicalURL = kind == .response ? url.flatMap(ResponseURL.canonical) : nil
        self.tags = Set(tags.map(ExactText.init))
        self.isVariantOpen = isVariantOpen
    }

    /// Adds tags. A purge by one of them since the reservation meant it, though nobody knew.
    mutating func add(_ more: [String]) {
        let new = Set(more.map(ExactText.init)).subtracting(tags)
        guard !new.isEmpty else { return }
        tags.formUnion(new)
        guard isFromOrigin else { return }
        switch latePurges {
        case .ofTags(let purged) where purged.isDisjoint(with: new): break
        case .ofTags, .unknown: self.purged.set()
        }
    }

    /// Decides the key, and tags that the entry will have.
    mutating func decide(_ key: CacheKey, tags: [String]) {
        self.key = key
        isVariantOpen = false
        add(tags)
    }

    /// Purges since the reservation that would have meant it, had it had the tag.
    private enum LatePurges {
        /// By these tags.
        case ofTags(Set<ExactText>)
        /// By too many: so by whatever tag may come.
        case unknown

        mutating func add(_ tags: Set<ExactText>) {
            guard case .ofTags(let known) = self, !tags.isSubset(of: known) else { return }
            // The first purge's set is shared by all who remember it.
            let all = known.isEmpty ? tags : known.union(tags)
            self = all.count > Flight.latePurgeLimit ? .unknown : .ofTags(all)
        }
    }

    /// The most tags by which purges are remembered: what is being received while there are more, and gets a tag late,
    /// is not kept.
    static let latePurgeLimit = 256

    /// What a purge means by a scope of its filters.
    enum Meaning {
        case nothingOfIt
        /// What is being received.
        case it
        /// Perhaps the entry that it is to bring up to date, by what only the index knows of that.
        case perhapsHeld
    }

    /// A purge began: what it means. What is being received is neither fresh nor stale; tags that come later are held
    /// against those of the purge then.
    mutating func meet(_ scope: PurgeScope) -> Meaning {
        guard isFromOrigin, isIn(scope.filter) else { return .nothingOfIt }
        if scope.filter.state == nil {
            guard let purgedTags = scope.tags, tags.isDisjoint(with: purgedTags) else { return .it }
            latePurges.add(purgedTags)
        }
        return .perhapsHeld
    }

    /// Whether a filter matches, whatever it says of tag and state.
    private func isIn(_ filter: EntryFilter) -> Bool {
        func begins(_ text: String, _ prefix: String) -> Bool { text.utf8.starts(with: prefix.utf8) }
        if let kind = filter.kind, kind != self.kind { return false }
        if let key = filter.key, !names(key) { return false }
        if let md5 = filter.md5, self.key.form == .data || md5 != self.key.md5Hex { return false }
        if let url = filter.url, url != self.url, url != canonicalURL { return false }
        if let hosts = filter.hosts, !hosts.contains(host ?? "") { return false }
        if let prefix = filter.prefix {
            let text = kind == .data ? key.text : url ?? ""
            if !begins(text, prefix), !begins(canonicalURL ?? "", prefix) { return false }
        }
        return true
    }

    /// Whether `text` is the key of the entry to be, as far as that is decided.
    private func names(_ text: String) -> Bool {
        if ExactText(text) == ExactText(key.text) { return true }
        guard isVariantOpen, let other = CacheKey(text) else { return false }
        return other.form == .response && other.md5Hex == key.md5Hex
    }
}

extension Flight {
    /// The first and the last of the keys that the entry may have which it is to bring up to date.
    var heldKeys: (first: String, last: String) {
        // A slash is the character after the dot, and in no key.
        isVariantOpen ? (key.md5Hex + ".", key.md5Hex + "/") : (key.text, key.text)
    }
}

/// Whether a purge has met a body that is being received. The reservation shares it with its flight, and so knows even
/// when the flight has ended.
final class PurgeMark: Sendable {
    private let mark = Atomic(false)

    var isSet: Bool { mark.load(ordering: .acquiring) }

    func set() { mark.store(true, ordering: .releasing) }
}
