import DiskCache
import Primitives
import Synchronization

/// Publishes the events of one namespace to the hub.
final class NamespaceEvents: EntryObserver, Sendable {
    /// The most `download.succeeded` events per second for answers from the cache; a burst may have twice as many. The
    /// limit exists because such answers may be as frequent as hits. The metrics count all of them.
    private static let cachedRate = 100.0

    private let hub: EventHub
    private let namespace: String
    private let clock: any WallClock
    private let hasEnded = Atomic<Bool>(false)
    private let cachedAnswers = Locked(TokenBucket(rate: NamespaceEvents.cachedRate))

    init(hub: EventHub, namespace: String, clock: any WallClock) {
        self.hub = hub
        self.namespace = namespace
        self.clock = clock
    }

    // MARK: Entries

    var isInterested: Bool { hub.isWanted && !hasEnded.load(ordering: .relaxed) }

    func entriesChanged(_ changes: [EntryChange]) {
        guard isInterested else { return }
        let now = clock.now()
        hub.publish(changes.map { Event(Event.Kind($0.verb), at: now, in: namespace, .entries($0.subject)) })
    }

    /// Publishes one event for all entries of a namespace that was removed. Later changes of its entries are not
    /// published.
    ///
    /// - Parameter count: the number of entries that the namespace had.
    func end(with count: Int64) {
        hasEnded.store(true, ordering: .relaxed)
        guard hub.isWanted, count > 0 else { return }
        let entries = EntryChange.Subject.others(count: Int(count), .all)
        hub.publish([Event(.entryRemoved, at: clock.now(), in: namespace, .entries(entries))])
    }

    // MARK: Downloads

    /// Whether events of downloads are recorded, for current listeners or for listeners that may come back.
    var areDownloadsWanted: Bool { hub.isWanted }

    /// Whether a client listens at this moment.
    var isHeard: Bool { hub.isHeard }

    /// Publishes an event of a download. Downloads of a removed namespace publish too, because every download that
    /// began must also report its end.
    func publish(_ kind: Event.Kind, _ report: DownloadReport) {
        hub.publish([Event(kind, at: clock.now(), in: namespace, .download(report))])
    }

    /// Whether the rate limit admits another event for an answer from the cache.
    func takesCachedAnswer() -> Bool {
        let now = ContinuousClock.now
        return cachedAnswers.withLock { $0.take(at: now) == nil }
    }
}
