import Primitives
import Synchronization

/// What is known of a body that is being received.
struct Flight: Sendable {
    /// The key of the entry to be; of a response, before it is known which variant it is, the key of some variant.
    var key: CacheKey
    var kind: Entry.Kind
    var url: String?
    var host: String?
    var tags: Set<ExactText>
    /// Whether the key is not decided yet: then a purge of any variant means it.
    var isVariantOpen = false
    /// Whether a purge matched it meanwhile.
    let purged = PurgeMark()

    init(key: CacheKey, kind: Entry.Kind, url: String?, tags: [String], isVariantOpen: Bool = false) {
        self.key = key
        self.kind = kind
        self.url = url
        host = url.map { URLParts($0).host }
        self.tags = Set(tags.map(ExactText.init))
        self.isVariantOpen = isVariantOpen
    }

    /// What a purge means by a scope of its filters.
    enum Meaning {
        case nothingOfIt
        /// What is being received.
        case it
        /// Perhaps the entry that it is to bring up to date, by what only the index knows of that.
        case perhapsHeld
    }

    /// What a purge means. What is being received is neither fresh nor stale, and has only the tags that are known.
    func meaning(of scope: PurgeScope) -> Meaning {
        guard isIn(scope.filter) else { return .nothingOfIt }
        if scope.filter.state == nil, scope.tags.map({ !tags.isDisjoint(with: $0) }) ?? true { return .it }
        // Only what comes from an origin brings anything up to date.
        return kind == .download || kind == .response ? .perhapsHeld : .nothingOfIt
    }

    /// Whether a filter matches, whatever it says of tag and state.
    private func isIn(_ filter: EntryFilter) -> Bool {
        func begins(_ text: String, _ prefix: String) -> Bool { text.utf8.starts(with: prefix.utf8) }
        if let kind = filter.kind, kind != self.kind { return false }
        if let key = filter.key, !names(key) { return false }
        if let md5 = filter.md5, self.key.form == .data || md5 != self.key.md5Hex { return false }
        if let url = filter.url, url != self.url { return false }
        if let host = filter.host, host != self.host { return false }
        if let prefix = filter.prefix {
            let text = kind == .data ? key.text : url ?? ""
            if !begins(text, prefix) { return false }
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
