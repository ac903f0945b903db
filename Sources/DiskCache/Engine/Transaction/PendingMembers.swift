// Invariants: only purges that name a key or URL match a member, because no other purge removes a held entry. A member
// is in all three tables or in none.

import Primitives

/// The members of running stages. As for ``PendingStores``, a purge marks the members that it
/// matches on the writer's thread, and the switch reads the marks on the same thread. Purges find members by key or
/// URL, because a stage may have thousands of members, and each store of a caller's own body purges its key.
final class PendingMembers: Sendable {
    private struct State {
        var stores: [Int: PendingStore] = [:]
        var byKey: [ExactText: Set<Int>] = [:]
        var byURL: [ExactText: Set<Int>] = [:]
        var next = 0

        func numbers(matching filter: EntryFilter) -> Set<Int> {
            if let key = filter.key ?? filter.md5 { return byKey[ExactText(key)] ?? [] }
            return filter.url.flatMap { byURL[ExactText($0)] } ?? []
        }
    }

    private let state = Locked(State())

    func begin(_ store: PendingStore) -> Int {
        state.withLock { state in
            state.next += 1
            state.stores[state.next] = store
            state.byKey[ExactText(store.key.text), default: []].insert(state.next)
            state.byURL[ExactText(store.url ?? ""), default: []].insert(state.next)
            return state.next
        }
    }

    func end(_ number: Int) {
        state.withLock { state in
            guard let store = state.stores.removeValue(forKey: number) else { return }
            Self.remove(number, from: ExactText(store.key.text), &state.byKey)
            Self.remove(number, from: ExactText(store.url ?? ""), &state.byURL)
        }
    }

    private static func remove(_ number: Int, from name: ExactText, _ table: inout [ExactText: Set<Int>]) {
        table[name]?.remove(number)
        if table[name]?.isEmpty == true { table[name] = nil }
    }

    func store(_ number: Int) -> PendingStore? { state.withLock { $0.stores[number] } }

    func add(_ tags: [String], to number: Int) { state.withLock { $0.stores[number]?.add(tags) } }

    /// See ``PendingStores/purge(_:sparing:)``.
    func purge(_ scopes: [PurgeScope]) -> [PendingStores.Doubt] {
        state.withLock { state in
            if state.stores.isEmpty { return [] }
            var doubts: [PendingStores.Doubt] = []
            for scope in scopes where scope.filter.namesResource {
                for number in state.numbers(matching: scope.filter) {
                    if let doubt = state.stores[number]?.meet([scope]) { doubts.append(doubt) }
                }
            }
            return doubts
        }
    }

    /// See ``PendingStores/patch(_:_:_:)``.
    func patch(_ key: String, _ patch: PendingStore.Patch, _ journal: Journal) {
        let former = state.withLock { state in
            var former: [Int: PendingStore.Patches] = [:]
            for number in state.byKey[ExactText(key)] ?? [] {
                former[number] = state.stores[number]?.patches
                state.stores[number]?.meet(patch, of: key)
            }
            return former
        }
        if former.isEmpty { return }
        journal.onUndo { [self] in
            state.withLock { state in for (number, old) in former { state.stores[number]?.patches = old } }
        }
    }
}

/// Ends the pending state of a ``GenerationMember`` when the member's last copy goes.
final class PendingMember: Sendable {
    private let members: PendingMembers
    private let number: Int

    init(_ store: PendingStore, in members: PendingMembers) {
        self.members = members
        number = members.begin(store)
    }

    deinit { members.end(number) }

    func addTags(_ tags: [String]) { if !tags.isEmpty { members.add(tags, to: number) } }

    /// Returns `nil` for a member of another cache.
    func store(in members: PendingMembers) -> PendingStore? {
        members === self.members ? members.store(number) : nil
    }
}
