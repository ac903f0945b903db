import DiskCache
import Primitives

/// A namespace that was removed or begun anew, until its directory is gone: it answers whom it was asked by, and takes
/// room.
///
/// 1. Requests hold the ``Namespace``. As long as one does, everything goes on; what is stored in the old directory
///    nobody will find.
/// 2. Then what runs for nobody is ended, and what runs for somebody is waited for.
/// 3. Then nothing holds the cache any more, which closes it.
/// 4. Then the directory is removed.
///
/// `@unchecked Sendable` is safe: `parts` and `hits` have their locks, and everything else that changes belongs to the
/// table's queue.
final class RetiredNamespace: @unchecked Sendable {
    /// What works in it.
    private struct Parts {
        let cache: DiskCache
        let downloads: DownloadManager
        let gateway: Gateway
    }

    let place: NamespaceDirectory
    /// What it takes of the disk, as far as that is known. What those still bring who wait may be on top of what was
    /// granted to others meanwhile: they are answered all the same.
    private(set) var diskBytes: Int64
    /// Whether somebody removes the directory now.
    var isBeingRemoved = false
    /// Whether it was said that the directory cannot be removed.
    var wasReported = false
    private let life: CacheLife
    private weak var namespace: Namespace?
    /// `nil` when all that works in it has ended.
    private let parts: Locked<Parts?>
    private var steps = 0
    private let hits = Locked(0)

    /// Begins with a namespace that nobody finds any more.
    init(_ namespace: Namespace) {
        place = namespace.place
        life = namespace.cache.life
        diskBytes = namespace.cache.takenDiskBytes.all
        parts = Locked(
            Parts(cache: namespace.cache, downloads: namespace.downloads, gateway: namespace.gateway))
        self.namespace = namespace
    }

    /// Its cache, while something works in it.
    var cache: DiskCache? { parts.withLock { $0?.cache } }

    /// How many hits were answered at hand in it, so far.
    func hitsAtHand() -> Int {
        hits.withLock { hits in
            if let cache { hits = cache.hitsAtHand }
            return hits
        }
    }

    /// Goes on as far as it can.
    ///
    /// - Returns: whether the directory is to be removed.
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
        // Who is still there after a moment may stay for long, and go on storing; nobody needs the rest.
        if steps > 1, running.cache.totals.entries > 0 { running.cache.remove(matching: .all) { _ in } }
    }

    /// Refuses what is asked from now on, and ends what runs: the server stops.
    func stop() {
        let running = parts.withLock { $0 }
        running?.downloads.stop()
        running?.gateway.stop()
    }
}
