import DiskCache
import Outbox
import Primitives

/// An event for the listeners of `GET /events`: a change of entries, or a step of a download, a capture or a change of
/// the outbox. A request for a download that the cache answers publishes an event, too. Reading an entry publishes no
/// event.
package struct Event: Sendable {
    /// The raw values are the names in `GET /events`.
    package enum Kind: String, Hashable, Sendable, CaseIterable {
        case downloadStarted = "download.started"
        case downloadProgress = "download.progress"
        /// Includes a request for a download that was answered from the cache.
        case downloadSucceeded = "download.succeeded"
        /// Includes a cancelled download.
        case downloadFailed = "download.failed"
        case pageStarted = "page.started"
        case pageProgress = "page.progress"
        /// Includes a capture that failed or was cancelled.
        case pageFinished = "page.finished"
        case entryStored = "entry.stored"
        case entryExpired = "entry.expired"
        /// An entry was removed on request.
        case entryRemoved = "entry.removed"
        case entryEvicted = "entry.evicted"
        /// A change of the outbox has a new state.
        case outboxChanged = "outbox.changed"
        /// A caller has made a subscription. A new definition of a subscription has no event.
        case subscriptionCreated = "subscription.created"
        /// A caller has ended a subscription, and its copies are removed or ordinary entries, or has removed its
        /// namespace.
        case subscriptionRemoved = "subscription.removed"
        /// A subscription has a new generation.
        case subscriptionRefreshed = "subscription.refreshed"
        /// The source of a subscription gave no list, for the first time since it last gave one, or the credential of
        /// the subscription is missing.
        case subscriptionFailed = "subscription.failed"
        /// The listener has missed events, and should read again the state that it needs.
        case reset
    }

    package enum Subject: Sendable {
        case download(DownloadReport)
        case page(PageReport)
        case entries(EntryChange.Subject)
        case change(ChangeSummary)
        case subscription(SubscriptionReport)
        case endedSubscription(name: String)
        case listener(ResetReason)
    }

    package enum ResetReason: String, Error, Sendable {
        /// The server has restarted since the listener's last event.
        case restart
        /// More events have happened since the listener's last event than the ``ReplayWindow`` keeps.
        case gap
    }

    package let kind: Kind
    package let time: Timestamp
    /// `nil` for a ``Kind/reset``.
    package let namespace: String?
    package let subject: Subject

    /// The approximate size of the event in bytes, together with the text that the server makes of it for listeners.
    var cost: Int {
        let texts: Int =
            switch subject {
            case .download(let report):
                2 * report.status.url.utf8.count + Self.length(report.tags)
                    + (report.entry.map { ($0.fields?.utf8.count ?? 0) + 1024 } ?? 0)
            case .page(let report): report.url.utf8.count + Self.length(report.tags) + (report.problem?.utf8.count ?? 0)
            case .entries(.entry(let entry)):
                entry.key.utf8.count + (entry.url?.utf8.count ?? 0) + Self.length(entry.tags)
            case .entries(.others(_, let filter)): (filter?.url?.utf8.count ?? 0) + (filter?.prefix?.utf8.count ?? 0)
            case .change(let change): change.target.url.utf8.count + change.lane.utf8.count
            case .subscription(let report): report.name.utf8.count + (report.sourceProblem?.reason.utf8.count ?? 0)
            case .endedSubscription(let name): name.utf8.count
            case .listener: 0
            }
        return 512 + 2 * texts
    }

    private static func length(_ texts: [String]) -> Int { texts.reduce(0) { $0 + $1.utf8.count + 16 } }
}

/// A name for higher modules, which do not import Outbox.
package typealias ChangeSummary = Outbox::ChangeSummary

package struct DownloadReport: Sendable {
    package var status: DownloadStatus
    /// The tags that the entry has or will have, sorted.
    package var tags: [String]
    /// The entry that the download stored or found, in its state at that time; `nil` unless the download succeeded.
    package var entry: Entry?
    /// Whether the origin was not contacted, or confirmed that the body in the cache is still valid.
    package var isFromCache = false
}

/// The state of a capture of a page.
package struct PageReport: Sendable {
    package var key: String
    package var url: String
    /// One of the states of a page.
    package var state: String
    /// The tags that the page will have, sorted.
    package var tags: [String]
    /// The URLs that the capture has found, and those of them that it has captured or cannot capture.
    package var found = 0
    package var captured = 0
    package var missing = 0
    /// The bytes of the captured bodies.
    package var bytes: Int64 = 0
    /// The reason of a capture that failed; otherwise `nil`.
    package var problem: String?
}

extension Event {
    init(reset reason: ResetReason, at time: Timestamp) {
        self.init(kind: .reset, time: time, namespace: nil, subject: .listener(reason))
    }
}

extension Event.Kind {
    /// Whether a later event of the same work makes this one needless.
    var isProgress: Bool { self == .downloadProgress || self == .pageProgress }

    init(_ verb: EntryChange.Verb) {
        self =
            switch verb {
            case .stored: .entryStored
            case .expired: .entryExpired
            case .removed: .entryRemoved
            case .evicted: .entryEvicted
            }
    }
}

/// Selects the events for a listener: an event must match every condition; `nil`: no condition.
package struct EventFilter: Hashable, Sendable {
    package var namespaces: Set<String>?
    package var kinds: Set<Event.Kind>?
    package var key: String?
    package var tag: String?

    package init(
        namespaces: Set<String>? = nil, kinds: Set<Event.Kind>? = nil, key: String? = nil, tag: String? = nil
    ) {
        self.namespaces = namespaces
        self.kinds = kinds
        self.key = key
        self.tag = tag
    }

    /// An event that only counts entries matches every key and tag. A ``Event/Kind/reset`` matches every filter.
    func matches(_ event: Event) -> Bool {
        guard let namespace = event.namespace else { return true }
        if let namespaces, !namespaces.contains(namespace) { return false }
        if let kinds, !kinds.contains(event.kind) { return false }
        switch event.subject {
        case .download(let report): return isOf(report.status.key, report.tags)
        case .page(let report): return isOf(report.key, report.tags)
        case .entries(.entry(let entry)): return isOf(entry.key, entry.tags)
        case .change(let change): return isOf(change.target.key, [])
        case .entries(.others), .subscription, .endedSubscription, .listener: return true
        }
    }

    private func isOf(_ key: String, _ tags: [String]) -> Bool {
        if let wanted = self.key, ExactText(wanted) != ExactText(key) { return false }
        guard let tag else { return true }
        return tags.contains { ExactText($0) == ExactText(tag) }
    }
}
