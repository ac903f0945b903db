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
    /// The tags of purges that match this store in all but the tag; `nil`: more tags than ``latePurgeLimit``.
    private var latePurges: Set<ExactText>? = []
    /// The key is undecided, and a purge of any variant of the URL matches this store.
    private(set) var isVariantOpen = false
    let purged = PurgeMark()
    /// The last change of the entry by a caller since the reservation. It outlives the store.
    private(set) var patch: Patch?

    /// Whether a concurrent purge can match this store. A body from an origin is as old as its request. A body that a
    /// caller stores is new when it is published and acknowledged.
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
        tags.formUnion(new)
        if isFromOrigin, !new.isEmpty, latePurges?.isDisjoint(with: new) != true { purged.set() }
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

    private mutating func addLatePurge(_ tags: Set<ExactText>) {
        guard let known = latePurges, !tags.isSubset(of: known) else { return }
        // All stores that remember the first purge share its set.
        let all = known.isEmpty ? tags : known.union(tags)
        latePurges = all.count > Self.latePurgeLimit ? nil : all
    }

    /// A store that meets more purged tags than it can remember is not kept if it gets a tag afterwards.
    static let latePurgeLimit = 256

    /// Whether a filter matches this store, apart from its tag and state.
    private func isIn(_ filter: EntryFilter) -> Bool {
        func begins(_ text: String, _ prefix: String) -> Bool { text.utf8.starts(with: prefix.utf8) }
        if let kind = filter.kind, kind != self.kind { return false }
        if let key = filter.key, !names(key) { return false }
        if let md5 = filter.md5, !isNamed(md5: md5) { return false }
        if let url = filter.url, url != self.url, url != canonicalURL { return false }
        if let host = filter.host, host != self.host { return false }
        guard let prefix = filter.prefix else { return true }
        if kind == .data { return begins(key.text, prefix) }
        return filter.urlBeginnings.contains { begins(url ?? "", $0) || begins(canonicalURL ?? "", $0) }
    }

    private func isNamed(md5: String) -> Bool {
        key.form != .data && (md5 == key.md5Hex || canonicalURL.map(MD5Name.of) == md5)
    }

    private func names(_ text: String) -> Bool {
        if ExactText(text) == ExactText(key.text) { return true }
        guard isVariantOpen, let other = CacheKey(text) else { return false }
        return other.form == .response && other.md5Hex == key.md5Hex
    }

    /// Applies a purge and remembers its tags. A store is neither fresh nor stale, so no filter with a state matches.
    fileprivate mutating func meet(_ scopes: [PurgeScope]) -> PendingStores.Doubt? {
        guard isFromOrigin, !purged.isSet else { return nil }
        var doubtful: [PurgeScope] = []
        for scope in scopes where isIn(scope.filter) {
            if scope.filter.state == nil {
                guard let purgedTags = scope.tags, tags.isDisjoint(with: purgedTags) else {
                    purged.set()
                    return nil
                }
                addLatePurge(purgedTags)
            }
            doubtful.append(scope)
        }
        if doubtful.isEmpty { return nil }
        let heldKeys = isVariantOpen ? ResponseKeys.bounds(ofMD5: key.md5Hex) : (key.text, key.text)
        return PendingStores.Doubt(purged: purged, url: url, heldKeys: heldKeys, scopes: doubtful)
    }
}

/// Set when a purge matches a body that is being received. The reservation reads the mark after the store's end, too.
final class PurgeMark: Sendable {
    private let mark = Atomic(false)
    var isSet: Bool { mark.load(ordering: .acquiring) }
    func set() { mark.store(true, ordering: .releasing) }
}

/// The stores under way. A purge reaches the bodies that come from an origin, and a purged body never comes back: the
/// purge marks the matching stores on the writer's thread before it removes the first entry, and publishing reads the
/// mark on the same thread. A body published before the purge is removed, a body being received is marked, and a
/// reservation made later is not concerned. A store that only lacks a tag of the purge remembers it, and is marked if
/// it gets the tag later.
final class PendingStores: Sendable {
    private struct State {
        var stores: [Int: PendingStore] = [:]
        var next = 0
    }

    private let state = Locked(State())

    func begin(_ store: PendingStore) -> Int {
        state.withLock { state in
            state.next += 1
            state.stores[state.next] = store
            return state.next
        }
    }

    func end(_ number: Int) { state.withLock { _ = $0.stores.removeValue(forKey: number) } }

    func store(_ number: Int) -> PendingStore? { state.withLock { $0.stores[number] } }

    func decide(_ key: CacheKey, tags: [String], of number: Int) {
        state.withLock { $0.stores[number]?.decide(key, tags: tags) }
    }

    func add(_ tags: [String], to number: Int) { state.withLock { $0.stores[number]?.add(tags) } }

    /// Lets a change of an entry's metadata outlive the downloads of the entry that began before it.
    func patch(_ key: String, _ patch: PendingStore.Patch) {
        state.withLock { state in
            for index in state.stores.indices { state.stores.values[index].meet(patch, of: key) }
        }
    }

    /// A store that a purge may match only by the entry that the store is to bring up to date. Only the index can tell.
    struct Doubt {
        var purged: PurgeMark
        var url: String?
        /// The bounds of the keys of that entry.
        var heldKeys: (first: String, last: String)
        var scopes: [PurgeScope]
    }

    /// Marks the stores that a purge matches when it begins. Returns the stores that need a look in the index.
    func purge(_ scopes: [PurgeScope], sparing spared: Int? = nil) -> [Doubt] {
        state.withLock { state in
            var doubts: [Doubt] = []
            // Changes each store in place, because taking it out and putting it back would copy all that it remembers.
            for index in state.stores.indices where state.stores.keys[index] != spared {
                if let doubt = state.stores.values[index].meet(scopes) { doubts.append(doubt) }
            }
            return doubts
        }
    }
}
