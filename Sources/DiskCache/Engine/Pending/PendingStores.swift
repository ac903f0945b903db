import Primitives

/// The stores under way. A purge reaches the bodies that come from an origin.
///
/// A purged body never comes back: a purge marks the matching stores on the writer's thread, before it removes the
/// first entry, and publishing reads the mark on the same thread. So there are three cases:
/// 1. A body was published before the purge began: the purge removes it.
/// 2. A body was being received: its store is marked.
/// 3. A reservation was made after the purge began: the purge does not concern it.
///
/// A store that only lacks a tag of the purge remembers that tag, and is marked if it gets the tag later.
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

    func end(_ number: Int) {
        state.withLock { _ = $0.stores.removeValue(forKey: number) }
    }

    func store(_ number: Int) -> PendingStore? {
        state.withLock { $0.stores[number] }
    }

    func decide(_ key: CacheKey, tags: [String], of number: Int) {
        state.withLock { $0.stores[number]?.decide(key, tags: tags) }
    }

    func add(_ tags: [String], to number: Int) {
        state.withLock { $0.stores[number]?.add(tags) }
    }

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

extension PendingStore {
    fileprivate mutating func meet(_ scopes: [PurgeScope]) -> PendingStores.Doubt? {
        if purged.isSet { return nil }
        var doubtful: [PurgeScope] = []
        for scope in scopes {
            switch meet(scope) {
            case .none: break
            case .perhapsHeld: doubtful.append(scope)
            case .store:
                purged.set()
                return nil
            }
        }
        return doubtful.isEmpty
            ? nil : PendingStores.Doubt(purged: purged, url: url, heldKeys: heldKeys, scopes: doubtful)
    }
}
