// Invariants of `PendingKeys`
//
// - A key is pending from before the acknowledgement of its first change until the cache has a version with the effect
//   of the last, or until the changes have ended without an effect.
// - `size` is the number of pending keys, or `unknown`. It is written under the lock of `state`, and read without it.
// - A revision is used for one key and one state of its changes, and never again.

import Primitives
import Synchronization

/// The keys with changes of the outbox that readers see, and that the entry in the cache does not have.
///
/// While no change is pending, which is the usual case, ``contains(_:in:)`` is a single atomic read. The ready answers
/// of a pending key are dropped and not made anew, so that their path needs no look-up at all.
package final class PendingKeys: Sendable {
    /// A version of a resource that a GET has brought into the cache.
    struct StoredVersion: Sendable {
        let namespace: String
        let key: String
        /// The value of ``PendingKeys/ticket`` when the GET began.
        let ticket: UInt64
        let etag: String?
        /// SHA-256 of the body.
        let digest: [UInt8]
    }

    /// One state of the changes of a key.
    struct Revision: Hashable, Sendable {
        /// Never used for another state.
        let number: UInt64
        /// The number of the first of the revisions that have led here by new changes alone. So two revisions with one
        /// root have the same changes, except for those that are later than all changes of the earlier revision.
        let root: UInt64
    }

    private struct Item {
        var changes: Set<Int64> = []
        var revision = Revision(number: 0, root: 0)
    }

    private struct State {
        /// By namespace and key.
        var items: [String: [String: Item]] = [:]
        var isKnown = true
        var lastRevision: UInt64 = 0
        var observer: (@Sendable (StoredVersion) -> Void)?

        var size: Int { isKnown ? items.values.reduce(0) { $0 + $1.count } : PendingKeys.unknown }

        mutating func change(
            _ key: String, in namespace: String, isAddition: Bool = false, _ change: (inout Item) -> Void
        ) {
            let old = items[namespace]?[key]
            var item = old ?? Item()
            change(&item)
            lastRevision += 1
            let root = isAddition ? old?.revision.root : nil
            item.revision = Revision(number: lastRevision, root: root ?? lastRevision)
            items[namespace, default: [:]][key] = item.changes.isEmpty ? nil : item
            if items[namespace]?.isEmpty == true { items[namespace] = nil }
        }
    }

    private static let unknown = -1
    private let state = Locked(State())
    private let size = Atomic<Int>(0)
    private let lastTicket = Atomic<UInt64>(0)

    package init() {}

    // MARK: - Readers

    /// Whether readers of a key see pending changes. Also `true` until ``begin(with:)`` after ``wait()``.
    package func contains(_ key: String, in namespace: String) -> Bool {
        switch size.load(ordering: .acquiring) {
        case 0: false
        case Self.unknown: true
        default: state.withLock { $0.items[namespace]?[key] != nil }
        }
    }

    /// Two equal revisions mean that the key has had the same changes in between. `nil`: the key is not pending.
    func revision(of key: String, in namespace: String) -> Revision? {
        state.withLock { $0.items[namespace]?[key]?.revision }
    }

    // MARK: - Versions that GETs bring

    /// The number of changes that origins have confirmed. A GET that begins now shows their effects.
    var ticket: UInt64 {
        get { lastTicket.load(ordering: .acquiring) }
        set { lastTicket.store(newValue, ordering: .releasing) }
    }

    /// Calls `observer` for each version of a pending key that ``noteStored(_:)`` gets.
    func observe(_ observer: @escaping @Sendable (StoredVersion) -> Void) {
        state.withLock { $0.observer = observer }
    }

    /// Reports a version that readers find in the cache from now on.
    func noteStored(_ version: StoredVersion) {
        guard size.load(ordering: .acquiring) > 0 else { return }
        let observer = state.withLock { state in
            state.items[version.namespace]?[version.key] == nil ? nil : state.observer
        }
        observer?(version)
    }

    // MARK: - The outbox

    /// Makes every key count as pending until ``begin(with:)``, because the outbox has not been read yet.
    func wait() {
        update { $0.isKnown = false }
    }

    /// Replaces all changes.
    func begin(with changes: [(id: Int64, key: String, namespace: String)]) {
        update { state in
            state.isKnown = true
            state.items = [:]
            for change in changes { state.change(change.key, in: change.namespace) { $0.changes.insert(change.id) } }
        }
    }

    /// - Parameter id: greater than the ids of all changes so far.
    func insert(_ id: Int64, key: String, in namespace: String) {
        update { $0.change(key, in: namespace, isAddition: true) { $0.changes.insert(id) } }
    }

    func remove(_ id: Int64, key: String, in namespace: String) {
        update { $0.change(key, in: namespace) { $0.changes.remove(id) } }
    }

    /// Gives the key another revision, because a change of it has other bodies now.
    func touch(_ key: String, in namespace: String) {
        update { $0.change(key, in: namespace) { _ in } }
    }

    func removeAll(in namespace: String) {
        update { $0.items[namespace] = nil }
    }

    private func update(_ change: (inout State) -> Void) {
        state.withLock { state in
            change(&state)
            size.store(state.size, ordering: .releasing)
        }
    }
}
