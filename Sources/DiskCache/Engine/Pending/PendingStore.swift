import Primitives
import Synchronization

/// The key, URL and tags of a body that is being received, as far as they are known, for the purges that may match it.
struct PendingStore: Sendable {
    /// The key of an arbitrary variant while the variant of a response is undecided.
    private(set) var key: CacheKey
    let kind: Entry.Kind
    let url: String?
    let host: String?
    /// `nil` unless a response's request spelled the URL differently.
    private let canonicalURL: String?
    private(set) var tags: Set<ExactText>
    private var latePurges = LatePurges.ofTags([])
    /// The key is undecided, and a purge of any variant of the URL matches this store.
    private(set) var isVariantOpen = false
    let purged = PurgeMark()
    /// The last change of the entry by a caller since the reservation. It outlives the store.
    private(set) var patch: Patch?

    /// Whether a concurrent purge can match this store. A body from an origin is as old as its request, and may be the
    /// body that the purge is to remove. A body that a caller stores is new when it is published and acknowledged.
    private var isFromOrigin: Bool { kind == .download || kind == .response }

    init(key: CacheKey, kind: Entry.Kind, url: String?, tags: [String], isVariantOpen: Bool = false) {
        self.key = key
        self.kind = kind
        self.url = url
        host = url.map { ResponseURL.host(of: $0) }
        canonicalURL = kind == .response ? url.flatMap { ResponseURL.canonical(of: $0) } : nil
        self.tags = Set(tags.map(ExactText.init))
        self.isVariantOpen = isVariantOpen
    }

    /// Marks the store as purged if a purge since the reservation named one of the new tags.
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

    mutating func decide(_ key: CacheKey, tags: [String]) {
        self.key = key
        isVariantOpen = false
        add(tags)
    }

    /// A change of metadata by a caller. `nil` leaves a value to the store.
    struct Patch: Sendable {
        var ttl: Duration?
        var expiryDate: Timestamp?
        var pinned: Bool?
        var tags: [String]?
        /// The tags that the store had before `tags` replaced them.
        fileprivate(set) var replacedTags: Set<ExactText> = []
    }

    /// Notes a change of the entry that a download is to replace or to bring up to date.
    mutating func meet(_ new: Patch, of key: String) {
        guard kind == .download, ExactText(key) == ExactText(self.key.text) else { return }
        var patch = patch ?? Patch()
        if new.ttl != nil { (patch.ttl, patch.expiryDate) = (new.ttl, new.expiryDate) }
        if new.pinned != nil { patch.pinned = new.pinned }
        if new.tags != nil { (patch.tags, patch.replacedTags) = (new.tags, tags) }
        self.patch = patch
    }

    /// The tags of the reservation's callers, except those that a caller has replaced since.
    var addedTags: Set<ExactText> { tags.subtracting(patch?.replacedTags ?? []) }

    /// The tags of the purges since the reservation that match this store in all but the tag.
    private enum LatePurges {
        case ofTags(Set<ExactText>)
        /// The purges named more tags than ``latePurgeLimit``. So any new tag counts as purged.
        case unknown

        mutating func add(_ tags: Set<ExactText>) {
            guard case .ofTags(let known) = self, !tags.isSubset(of: known) else { return }
            // All stores that remember the first purge share its set.
            let all = known.isEmpty ? tags : known.union(tags)
            self = all.count > PendingStore.latePurgeLimit ? .unknown : .ofTags(all)
        }
    }

    /// A store that meets more purged tags than it can remember is not kept if it gets a tag afterwards.
    static let latePurgeLimit = 256

    enum Meaning {
        case none
        case store
        /// The purge may match the entry that the store is to bring up to date. Only the index can tell.
        case perhapsHeld
    }

    /// Applies a purge that begins now. A filter with a state never matches the store itself, because a body that is
    /// being received is neither fresh nor stale. The store remembers the purge's tags, for later.
    mutating func meet(_ scope: PurgeScope) -> Meaning {
        guard isFromOrigin, isIn(scope.filter) else { return .none }
        if scope.filter.state == nil {
            guard let purgedTags = scope.tags, tags.isDisjoint(with: purgedTags) else { return .store }
            latePurges.add(purgedTags)
        }
        return .perhapsHeld
    }

    /// Whether a filter matches this store, apart from its tag and state.
    private func isIn(_ filter: EntryFilter) -> Bool {
        func begins(_ text: String, _ prefix: String) -> Bool { text.utf8.starts(with: prefix.utf8) }
        if let kind = filter.kind, kind != self.kind { return false }
        if let key = filter.key, !names(key) { return false }
        if let md5 = filter.md5, !isNamed(md5: md5) { return false }
        if let url = filter.url, url != self.url, url != canonicalURL { return false }
        if let host = filter.host, host != self.host { return false }
        if let prefix = filter.prefix {
            let isBegun =
                kind == .data
                ? begins(key.text, prefix)
                : filter.urlBeginnings.contains { begins(url ?? "", $0) || begins(canonicalURL ?? "", $0) }
            if !isBegun { return false }
        }
        return true
    }

    private func isNamed(md5: String) -> Bool {
        guard key.form != .data else { return false }
        return md5 == key.md5Hex || canonicalURL.map { MD5Name.of($0) == md5 } ?? false
    }

    private func names(_ text: String) -> Bool {
        if ExactText(text) == ExactText(key.text) { return true }
        guard isVariantOpen, let other = CacheKey(text) else { return false }
        return other.form == .response && other.md5Hex == key.md5Hex
    }
}

extension PendingStore {
    /// The bounds of the keys of the entry that the store may bring up to date.
    var heldKeys: (first: String, last: String) {
        // The slash is the character after the dot, and no key contains a slash.
        isVariantOpen ? (key.md5Hex + ".", key.md5Hex + "/") : (key.text, key.text)
    }
}

/// Set when a purge matches a body that is being received. The store and its reservation share the mark, so the
/// reservation can read it after the store has ended.
final class PurgeMark: Sendable {
    private let mark = Atomic(false)

    var isSet: Bool { mark.load(ordering: .acquiring) }

    func set() { mark.store(true, ordering: .releasing) }
}
