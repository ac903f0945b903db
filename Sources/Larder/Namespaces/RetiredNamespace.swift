import DiskCache
import Primitives

/// A namespace that was removed or begun anew, until its directory is removed. It still answers its pending requests,
/// and uses space.
///
/// 1. Requests hold the ``Namespace``. While any request holds it, all work goes on. No later request finds the entries
///    that this work stores in the old directory.
/// 2. Then downloads and gateway fetches without a waiter are cancelled. The others are allowed to finish.
/// 3. Then the last reference to the cache goes, which closes it.
/// 4. Then the directory is removed.
///
/// `@unchecked Sendable` is safe because `parts` and `hits` have their locks, `wasReported` belongs to the table's
/// `removals` queue, and all other mutable state belongs to the table's `queue`.
final class RetiredNamespace: @unchecked Sendable {
    private struct Parts {
        let cache: DiskCache
        let downloads: DownloadManager
        let gateway: Gateway
    }

    let place: NamespaceDirectory
    /// As last known. Pending downloads may still add bytes that were granted to other namespaces in the meantime,
    /// because their waiters are answered in any case.
    private(set) var diskBytes: Int64
    var isBeingRemoved = false
    /// Whether the log has reported that the directory cannot be removed.
    var wasReported = false
    private let life: CacheLife
    private weak var namespace: Namespace?
    /// `nil` when all work has ended.
    private let parts: Locked<Parts?>
    private var steps = 0
    private let hits = Locked(0)

    init(_ namespace: Namespace) {
        place = namespace.place
        life = namespace.cache.life
        diskBytes = namespace.cache.takenDiskBytes.all
        parts = Locked(
            Parts(cache: namespace.cache, downloads: namespace.downloads, gateway: namespace.gateway))
        self.namespace = namespace
    }

    var cache: DiskCache? { parts.withLock { $0?.cache } }
    func hitsAtHand() -> Int {
        hits.withLock { hits in
            if let cache { hits = cache.hitsAtHand }
            return hits
        }
    }

    /// Advances through the phases as far as possible. Returns whether the directory may be removed now.
    func step() -> Bool {
        diskBytes = life.takenDiskBytes ?? diskBytes
        if let running = parts.withLock({ $0 }) { step(running) }
        return parts.withLock { $0 == nil } && life.isOver && !isBeingRemoved
    }

    private func step(_ running: Parts) {
        if namespace == nil {
            running.downloads.endUnawaited()
            running.gateway.endUnread()
            if running.downloads.runningCount == 0, running.gateway.flightCount == 0 {
                _ = hitsAtHand()
                return parts.withLock { $0 = nil }
            }
        }
        steps += 1
        // Removes all entries from the second step on, because a request may hold the namespace for long and go on
        // storing. No request needs the entries.
        if steps > 1, running.cache.totals.entries > 0 { running.cache.remove(matching: .all) { _ in } }
    }

    func stop() {
        let running = parts.withLock { $0 }
        running?.downloads.stop()
        running?.gateway.stop()
    }
}
