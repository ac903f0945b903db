// Invariants: `epoch` only grows. An answer made at an even epoch is valid while the epoch stays the same. An odd epoch
// means that the entry has left the tier: `leave()` makes the epoch odd under the shard's lock, so a writer that does
// not find the entry knows that no answer is valid. `actions` belong to answers of the present epoch. Each runs at most
// once, without the lock. An entry that has left accepts no action, and the `change()` after `leave()` empties the
// list. `charged`, the bytes that the tier counts for the answers, is never less than the bytes that the answers take.

import Primitives
import Synchronization

/// An entry in the memory tier, as seen by a cache of ready answers. Without a lock it tells whether an answer is still
/// valid, and counts hits. `@unchecked Sendable` is safe because all own properties are `Sendable` constants.
package final class HotEntry: HitCounter, @unchecked Sendable {
    /// The state of an entry at a moment. Take the mark *before* reading data that may change.
    package struct Mark: Sendable {
        package let entry: HotEntry
        fileprivate let epoch: Int

        /// Whether the entry has stayed in the tier, unchanged and with the same expiry, since the mark was taken.
        package var isCurrent: Bool { epoch & 1 == 0 && entry.epoch.load(ordering: .acquiring) == epoch }
    }

    private struct State {
        /// The oldest first. `requests` is a hash of the requests that the answer is for.
        var actions: [(requests: Int, bytes: Int, action: @Sendable () -> Void)] = []
        var charged = 0
    }

    /// The most answers of an entry. A further answer replaces the oldest, so varied requests do not fill the memory.
    private static let answerLimit = 4
    private let epoch = Atomic<Int>(0)
    let key: ExactText
    private let version: Int64
    private let log: HitLog
    private let onFirstHit: @Sendable () -> Void
    private let state = Locked(State())

    /// `onFirstHit` is called when a flush must be scheduled: no other hit was pending in that shard of the log.
    init(key: String, version: Int64, log: HitLog, onFirstHit: @escaping @Sendable () -> Void) {
        self.key = ExactText(key)
        self.version = version
        self.log = log
        self.onFirstHit = onFirstHit
    }

    package var mark: Mark { Mark(entry: self, epoch: epoch.load(ordering: .acquiring)) }

    /// Counts the hit of a ready answer at the time `now`, as `load` and `recordHit` of ``DiskCache`` count other hits.
    package func recordHit(at now: Timestamp) {
        if count(at: now), log.register(self, for: key, version: version) { onFirstHit() }
    }

    /// Keeps the entry in the memory tier as a hit does, without counting a hit.
    package func recordUse() { countUse() }

    /// Registers `action`, which runs once: when the mark ceases to be current, or when newer answers exceed the limit.
    /// An action for the same `requests`, a hash, is replaced, and then never runs. Returns the bytes to charge for the
    /// answer; `nil` when the mark is not current: then `action` never runs.
    func attach(_ mark: Mark, for requests: Int, bytes: Int, _ action: @escaping @Sendable () -> Void) -> Int? {
        // The replaced action is released after the lock.
        let (extra, oldest, _) = state.withLock { state -> (Int?, (@Sendable () -> Void)?, (@Sendable () -> Void)?) in
            guard mark.isCurrent else { return (nil, nil, nil) }
            var oldest, replaced: (@Sendable () -> Void)?
            if let index = state.actions.firstIndex(where: { $0.requests == requests }) {
                replaced = state.actions.remove(at: index).action
            } else if state.actions.count >= Self.answerLimit {
                oldest = state.actions.removeFirst().action
            }
            state.actions.append((requests, bytes, action))
            let extra = max(0, state.actions.reduce(0) { $0 + $1.bytes } - state.charged)
            state.charged += extra
            return (extra, oldest, replaced)
        }
        oldest?()
        return extra
    }

    /// Takes back a charge for which the tier has no room, and drops all answers of the entry.
    func refuse(_ bytes: Int) {
        state.withLock { $0.charged -= bytes }
        change()
    }

    /// Marks the entry as gone. Called under its shard's lock, in the step that removes the entry, before ``change()``.
    func leave() {
        epoch.bitwiseOr(1, ordering: .releasing)
    }

    func change() {
        let actions = state.withLock { state in
            epoch.add(2, ordering: .releasing)
            return exchange(&state.actions, with: [])
        }
        for (_, _, action) in actions { action() }
    }
}

struct HeldEntry: Sendable {
    var entry: Entry
    let body: StoredBody
    let hot: HotEntry
}

package struct StoredEntry: Sendable {
    package var entry: Entry
    package var body: StoredBody
    /// `nil` for an entry that was read from disk. For ready answers: ``DiskCache/keepAtHand(_:for:bytes:onEnd:)``.
    package var hot: HotEntry.Mark?
}

package enum LoadResult: Sendable {
    /// Fresh or stale.
    case hit(StoredEntry)
    case absent
    /// The body is not as the index describes it, for example because its file was touched. It must be hashed before
    /// any byte is served: ``DiskCache/verify(_:completion:)`` takes as long as reading the body.
    case needsVerification
    /// The caller must not wait for the disk: repeat the look-up on ``DiskCache/onDiskThread(_:)``.
    case onDisk
}
