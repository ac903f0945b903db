import DiskCache
import Primitives
import Synchronization

/// Publishes the events of one namespace to the hub.
final class NamespaceEvents: EntryObserver, Sendable {
    /// The most `download.succeeded` events per second for answers from the cache, which may be as frequent as hits; a
    /// burst may have twice as many. The metrics count all of them.
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

    var isInterested: Bool { hub.isWanted && !hasEnded.load(ordering: .relaxed) }

    func entriesChanged(_ changes: [EntryChange]) {
        guard isInterested else { return }
        let now = clock.now()
        hub.publish(changes.map { Event(Event.Kind($0.verb), at: now, in: namespace, .entries($0.subject)) })
    }

    /// Publishes one event for all entries of a removed namespace, which had `count`. Later changes of its entries are
    /// not published.
    func end(with count: Int64) {
        hasEnded.store(true, ordering: .relaxed)
        guard hub.isWanted, count > 0 else { return }
        let entries = EntryChange.Subject.others(count: Int(count), .all)
        hub.publish([Event(.entryRemoved, at: clock.now(), in: namespace, .entries(entries))])
    }

    var areDownloadsWanted: Bool { hub.isWanted }
    var isHeard: Bool { hub.isHeard }

    /// Downloads of a removed namespace publish too, because every download that began must also report its end.
    func publish(_ kind: Event.Kind, _ report: DownloadReport) {
        hub.publish([Event(kind, at: clock.now(), in: namespace, .download(report))])
    }

    func takesCachedAnswer() -> Bool {
        let now = ContinuousClock.now
        return cachedAnswers.withLock { $0.take(at: now) == nil }
    }
}
