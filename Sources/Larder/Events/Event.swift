import DiskCache
import Primitives

/// An event for the listeners of `GET /events`.
///
/// Events come from changes of entries and from downloads, including requests for a download that the cache answers.
/// Reading an entry publishes no event.
package struct Event: Sendable {
    /// The kind of an event, as `GET /events` names it.
    package enum Kind: String, Hashable, Sendable, CaseIterable {
        /// A download began.
        case downloadStarted = "download.started"
        /// A download received more bytes.
        case downloadProgress = "download.progress"
        /// A download succeeded, or a request for a download was answered from the cache.
        case downloadSucceeded = "download.succeeded"
        /// A download failed or was cancelled.
        case downloadFailed = "download.failed"
        /// A body was stored.
        case entryStored = "entry.stored"
        /// An expired entry was removed.
        case entryExpired = "entry.expired"
        /// An entry was removed on request.
        case entryRemoved = "entry.removed"
        /// An entry was evicted to make room.
        case entryEvicted = "entry.evicted"
        /// The listener has missed events, and should read the state that it needs anew.
        case reset
    }

    /// The subject of an event.
    package enum Subject: Sendable {
        /// A download.
        case download(DownloadReport)
        /// One entry or several.
        case entries(EntryChange.Subject)
        /// The listener itself, for a ``Kind/reset``.
        case listener(ResetReason)
    }

    /// The reason for a ``Kind/reset``.
    package enum ResetReason: String, Sendable {
        /// The server has restarted since the listener's last event.
        case restart
        /// More events have happened since the listener's last event than the window keeps.
        case gap
    }

    /// The kind.
    package let kind: Kind
    /// The time at which the event was recorded.
    package let time: Timestamp
    /// The name of the namespace that the event happened in; `nil` for a ``Kind/reset``.
    package let namespace: String?
    /// The download, the entries or the reset that the event is about.
    package let subject: Subject

    init(_ kind: Kind, at time: Timestamp, in namespace: String, _ subject: Subject) {
        self.kind = kind
        self.time = time
        self.namespace = namespace
        self.subject = subject
    }

    /// A ``Kind/reset``.
    init(reset reason: ResetReason, at time: Timestamp) {
        kind = .reset
        self.time = time
        namespace = nil
        subject = .listener(reason)
    }
}

/// A download as an event reports it.
package struct DownloadReport: Sendable {
    /// The state and the progress of the download.
    package let status: DownloadStatus
    /// The tags that the entry has or will have, sorted.
    package let tags: [String]
    /// The entry that the download stored or found, as of that time; `nil` unless the download succeeded.
    package let entry: Entry?
    /// Whether the body was in the cache already: the origin was not contacted, or confirmed that the body is still
    /// valid.
    package let isFromCache: Bool

    init(_ status: DownloadStatus, tags: [String], entry: Entry? = nil, isFromCache: Bool = false) {
        self.status = status
        self.tags = tags
        self.entry = entry
        self.isFromCache = isFromCache
    }
}

extension Event.Kind {
    /// The kind of event for a change of entries.
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

extension Event {
    /// The approximate size of the event in bytes, together with the text that is made of it for listeners.
    var cost: Int {
        let texts: Int =
            switch subject {
            case .download(let report):
                2 * report.status.url.utf8.count + Self.length(report.tags)
                    + (report.entry.map { ($0.fields?.utf8.count ?? 0) + 1024 } ?? 0)
            case .entries(.entry(let entry)):
                entry.key.utf8.count + (entry.url?.utf8.count ?? 0) + Self.length(entry.tags)
            case .entries(.others(_, let filter)): (filter?.url?.utf8.count ?? 0) + (filter?.prefix?.utf8.count ?? 0)
            case .listener: 0
            }
        return 512 + 2 * texts
    }

    private static func length(_ texts: [String]) -> Int { texts.reduce(0) { $0 + $1.utf8.count + 16 } }
}
