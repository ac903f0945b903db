import DiskCache
import Primitives
import Synchronization

/// What happens in one namespace, on its way to those who listen.
final class NamespaceEvents: EntryObserver, Sendable {
    /// Of answers from the cache so many a second are told of, and for a moment twice as many: they may be as frequent
    /// as hits are. All of them are counted in the metrics.
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

    /// The namespace is found no more, and so is nothing in it: what still becomes of its entries is told to nobody.
    ///
    /// - Parameter count: how many it had.
    func end(with count: Int64) {
        hasEnded.store(true, ordering: .relaxed)
        guard hub.isWanted, count > 0 else { return }
        let entries = EntryChange.Subject.others(count: Int(count), .all)
        hub.publish([Event(.entryRemoved, at: clock.now(), in: namespace, .entries(entries))])
    }

    // MARK: Downloads

    /// Whether anybody will get to see what becomes of a download.
    var areDownloadsWanted: Bool { hub.isWanted }

    /// Whether somebody listens at this moment.
    var isHeard: Bool { hub.isHeard }

    /// Something became of a download, also of one in a namespace that is found no more: each that began ends.
    func publish(_ kind: Event.Kind, _ report: DownloadReport) {
        hub.publish([Event(kind, at: clock.now(), in: namespace, .download(report))])
    }

    /// Whether one more answer from the cache is told of.
    func takesCachedAnswer() -> Bool {
        let now = ContinuousClock.now
        return cachedAnswers.withLock { $0.take(at: now) == nil }
    }
}
