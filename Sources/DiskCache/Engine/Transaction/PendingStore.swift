import Primitives
import Synchronization

/// The key, URL and tags of a body that is being received, as far as they are known, for the purges that may match it.
struct PendingStore: Sendable {
    /// The key; while the variant of a response is undecided, the key of an arbitrary variant.
    private(set) var key: CacheKey
    let kind: Entry.Kind
    let url: String?
    let host: String?
    /// The canonical URL of a response, if its URL as sent has another spelling; otherwise `nil`.
    private let canonicalURL: String?
    private(set) var tags: Set<ExactText>
    /// The tags of concurrent purges that match this store in all but the tag; `nil`: more than ``latePurgeLimit``.
    private var latePurges: Set<ExactText>? = []
    /// Whether the key is undecided. Then a purge of any variant of the URL matches this store.
    fileprivate(set) var isVariantOpen = false
    let purged = PurgeMark()
    /// The changes that callers have made to the entry of each key since the reservation began.
    var patches: Patches = [:]
    typealias Patches = [ExactText: Patch]
    /// The changes of the entry with the decided key, which the published entry gets as well.
    private var patch: Patch { patches[ExactText(key.text)] ?? Patch() }

    /// Whether the body comes from an origin, so that a concurrent purge can match this store: such a body is as old as
    /// its request. A body that a caller stores is new when it is published and acknowledged.
    fileprivate var isFromOrigin: Bool { kind == .download || kind == .response || kind == .page }

    init(key: CacheKey, kind: Entry.Kind, url: String?, tags: [String], isVariantOpen: Bool = false) {
        self.key = key
        self.kind = kind
        self.url = url
        host = url.map { ResponseURL.host(of: $0) }
        canonicalURL = kind == .response ? url.flatMap { ResponseURL.canonical(of: $0) } : nil
        self.tags = Set(tags.map(ExactText.init))
        self.isVariantOpen = isVariantOpen
    }

    /// Adds tags; `pinned` overrides earlier patches. If a concurrent purge named a new tag, marks the store as purged.
    mutating func add(_ more: [String], pinned: Bool? = nil) {
        let more = Set(more.map(ExactText.init))
        for index in patches.indices {
            patches.values[index].newTags.formUnion(more)
            // `pinned` is later than the patch. For `true`, the patch needs no value, because the metadata has it.
            if let pinned, patches.values[index].pinned != nil { patches.values[index].pinned = pinned ? nil : false }
        }
        note(more)
    }

    private mutating func note(_ more: Set<ExactText>) {
        let new = more.subtracting(tags)
        tags.formUnion(new)
        if !new.isEmpty, latePurges?.isDisjoint(with: new) != true { purged.set() }
    }

    mutating func decide(_ key: CacheKey, tags: [String]) {
        self.key = key
        isVariantOpen = false
        let tags = Set(tags.map(ExactText.init))
        patches[ExactText(key.text)]?.newTags.formUnion(tags)
        note(tags)
    }

    /// A caller's change of an entry's metadata. `nil`: the caller did not change this value, so the store decides it.
    struct Patch: Sendable {
        var ttl: Duration?
        var expiryDate: Timestamp?
        /// Rewrites the stored response fields; set only together with `ttl`.
        var fields: (@Sendable (String) -> String)?
        var pinned: Bool?
        var tags: [String]?
        /// The tags that callers of the fetch have named since the change.
        fileprivate(set) var newTags: Set<ExactText> = []
    }

    mutating func meet(_ new: Patch, of key: String) {
        var patch = patches[ExactText(key)] ?? Patch()
        if new.ttl != nil { (patch.ttl, patch.expiryDate, patch.fields) = (new.ttl, new.expiryDate, new.fields) }
        if new.pinned != nil { patch.pinned = new.pinned }
        if new.tags != nil { (patch.tags, patch.newTags) = (new.tags, []) }
        patches[ExactText(key)] = patch
    }

    func isPinned(_ metadata: EntryMetadata, replacing old: Entry?) -> Bool {
        patch.pinned ?? metadata.pinned ?? old?.pinned ?? false
    }

    /// Returns the published entry. If the patch sets tags, the entry gets the present tags of `old` and the `newTags`.
    func entry(
        _ record: Entry.Record, _ metadata: EntryMetadata, replacing old: Entry?, now: Timestamp, hits: Int64,
        lastAccessDate: Timestamp
    ) -> Entry {
        let patch = patch
        var record = record
        record.pinned = isPinned(metadata, replacing: old)
        record.tags = TagUnion.tags(
            stated: patch.tags.map { old?.tags ?? $0 } ?? metadata.tags, held: old, dropping: metadata.droppedTags,
            adding: patch.tags == nil ? tags : patch.newTags)
        if let fields = patch.fields { record.fields = record.fields.map(fields) }
        let ttl = patch.ttl ?? max(metadata.ttl, .zero)
        return Entry(
            record, ttl: ttl, expiryDate: patch.expiryDate ?? metadata.expiryDate ?? now + ttl, hits: hits,
            lastAccessDate: lastAccessDate)
    }

    /// Returns the entry with the values of an answer that confirms its body.
    func refreshed(_ old: Entry, by refresh: EntryMetadata, now: Timestamp) -> Entry {
        var record = old.record
        record.refresh(by: refresh)
        if let allowance = refresh.staleAllowance {
            // A `download` entry keeps the longest stale allowance of all its callers.
            record.staleAllowance = record.kind == .download ? max(allowance, record.staleAllowance) : allowance
        }
        return entry(record, refresh, replacing: old, now: now, hits: old.hits, lastAccessDate: old.lastAccessDate)
    }

    private mutating func addLatePurge(_ tags: Set<ExactText>) {
        guard let known = latePurges, !tags.isSubset(of: known) else { return }
        // Keeps the set of the first purge as it is, so that all stores share its memory.
        let all = known.isEmpty ? tags : known.union(tags)
        latePurges = all.count > Self.latePurgeLimit ? nil : all
    }

    /// The most purged tags that a running store remembers. After more, any new tag makes the store count as purged.
    static let latePurgeLimit = 256

    /// Whether a filter matches this store, if the filter's tag and state are left out.
    private func isIn(_ filter: EntryFilter) -> Bool {
        func begins(_ text: String, _ prefix: String) -> Bool { text.utf8.starts(with: prefix.utf8) }
        if let kind = filter.kind, kind != self.kind { return false }
        if let key = filter.key, !names(key) { return false }
        if let md5 = filter.md5,
            key.form == .data || key.form == .page || (md5 != key.md5Hex && md5 != canonicalURL.map(MD5Name.of))
        {
            return false
        }
        if let url = filter.url, url != self.url, url != canonicalURL { return false }
        if let host = filter.host, host != self.host { return false }
        guard let prefix = filter.prefix else { return true }
        if kind == .data { return begins(key.text, prefix) }
        return filter.urlBeginnings.contains { begins(url ?? "", $0) || begins(canonicalURL ?? "", $0) }
    }

    fileprivate func names(_ text: String) -> Bool {
        if ExactText(text) == ExactText(key.text) { return true }
        guard isVariantOpen, let other = CacheKey(text) else { return false }
        return other.form == .response && other.md5Hex == key.md5Hex
    }

    /// Applies a purge, remembers its tags, and returns the scopes that may match the replaced entry by tag or state.
    mutating func meet(_ scopes: [PurgeScope]) -> PendingStores.Doubt? {
        guard !purged.isSet else { return nil }
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

/// Set when a purge matches a body that is being received. The reservation reads the mark even after the store's end.
final class PurgeMark: Sendable {
    private let mark = Atomic(false)
    var isSet: Bool { mark.load(ordering: .acquiring) }
    func set() { mark.store(true, ordering: .releasing) }
}

/// The stores in progress. A purge also matches bodies that are being received from an origin, and no purged body comes
/// back: the purge marks the matching stores on the writer's thread before it removes the first entry, and publishing
/// reads the mark on the same thread. So a purge removes a body that was published before, and marks a body that is
/// being received. A reservation that begins after the purge is not affected. If a store lacks only a tag of the purge,
/// the store remembers that tag, and is marked if it gets the tag later.
final class PendingStores: Sendable {
    private struct State {
        /// The stores of bodies from origins. Purges and patches examine each of them.
        var fetched: [Int: PendingStore] = [:]
        /// The stores of callers' own bodies. No purge or patch matches one, but each purges the fetches of its key. In
        /// one table with the fetches, these purges took a third of the writer's instructions with 64 callers at once.
        var own: [Int: PendingStore] = [:]
        var next = 0
    }

    private let state = Locked(State())
    let members = PendingMembers()

    func begin(_ store: PendingStore) -> Int {
        state.withLock { state in
            state.next += 1
            if store.isFromOrigin { state.fetched[state.next] = store } else { state.own[state.next] = store }
            return state.next
        }
    }

    func end(_ number: Int) {
        state.withLock { state in
            if state.own.removeValue(forKey: number) == nil { state.fetched[number] = nil }
        }
    }

    func store(_ number: Int) -> PendingStore? { state.withLock { $0.own[number] ?? $0.fetched[number] } }

    func decide(_ key: CacheKey, tags: [String], of number: Int) {
        state.withLock { $0.fetched[number]?.decide(key, tags: tags) }
    }

    /// Makes the variant of a response undecided again, because a further answer will decide it.
    func reopen(_ number: Int) {
        state.withLock { if $0.fetched[number]?.kind == .response { $0.fetched[number]?.isVariantOpen = true } }
    }

    func add(_ tags: [String], pinned: Bool?, to number: Int) {
        state.withLock { state in
            state.fetched[number]?.add(tags, pinned: pinned)
            state.own[number]?.add(tags, pinned: pinned)
        }
    }

    /// Notes a change of an entry's metadata, so that a running fetch, which began before, does not undo the change
    /// when it stores its answer.
    func patch(_ key: String, _ patch: PendingStore.Patch, _ journal: Journal) {
        let former = state.withLock { state in
            let former = state.fetched.compactMapValues { $0.names(key) ? $0.patches : nil }
            for number in former.keys { state.fetched[number]?.meet(patch, of: key) }
            return former
        }
        journal.onUndo { [self] in
            state.withLock { state in for (number, old) in former { state.fetched[number]?.patches = old } }
        }
        members.patch(key, patch, journal)
    }

    /// A store that a purge may match only through the entry that it replaces or refreshes. The index must be asked.
    struct Doubt {
        var purged: PurgeMark
        var url: String?
        /// The bounds of the keys that the replaced entry can have.
        var heldKeys: (first: String, last: String)
        var scopes: [PurgeScope]
    }

    /// Called when a purge begins. Marks the stores that it matches. Returns the stores that need a look in the index.
    func purge(_ scopes: [PurgeScope], sparing spared: Int? = nil) -> [Doubt] {
        let doubts = state.withLock { state in
            var doubts: [Doubt] = []
            // Changes each store in place, because taking it out and putting it back would copy all that it remembers.
            for index in state.fetched.indices where state.fetched.keys[index] != spared {
                if let doubt = state.fetched.values[index].meet(scopes) { doubts.append(doubt) }
            }
            return doubts
        }
        return doubts + members.purge(scopes)
    }
}
