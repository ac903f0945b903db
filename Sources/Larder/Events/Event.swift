import DiskCache
import Primitives

/// An event for the listeners of `GET /events`, from a change of entries or from a download, also from a request for a
/// download that the cache answers. Reading an entry publishes no event.
package struct Event: Sendable {
    /// The raw values are the names in `GET /events`.
    package enum Kind: String, Hashable, Sendable, CaseIterable {
        case downloadStarted = "download.started"
        case downloadProgress = "download.progress"
        /// Includes a request for a download that was answered from the cache.
        case downloadSucceeded = "download.succeeded"
        /// Includes a cancelled download.
        case downloadFailed = "download.failed"
        case entryStored = "entry.stored"
        /// An expired entry was removed.
        case entryExpired = "entry.expired"
        /// An entry was removed on request.
        case entryRemoved = "entry.removed"
        case entryEvicted = "entry.evicted"
        /// The listener has missed events, and should read the state that it needs anew.
        case reset
    }

    package enum Subject: Sendable {
        case download(DownloadReport)
        case entries(EntryChange.Subject)
        case listener(ResetReason)
    }

    package enum ResetReason: String, Sendable {
        /// The server has restarted since the listener's last event.
        case restart
        /// More events have happened since the listener's last event than the window keeps.
        case gap
    }

    package let kind: Kind
    package let time: Timestamp
    /// `nil` for a ``Kind/reset``.
    package let namespace: String?
    package let subject: Subject

    init(_ kind: Kind, at time: Timestamp, in namespace: String, _ subject: Subject) {
        self.kind = kind
        self.time = time
        self.namespace = namespace
        self.subject = subject
    }

    init(reset reason: ResetReason, at time: Timestamp) {
        kind = .reset
        self.time = time
        namespace = nil
        subject = .listener(reason)
    }
}

package struct DownloadReport: Sendable {
    package let status: DownloadStatus
    /// The tags that the entry has or will have, sorted.
    package let tags: [String]
    /// The entry that the download stored or found, as of that time; `nil` unless the download succeeded.
    package let entry: Entry?
    /// The origin was not contacted, or confirmed that the body in the cache is still valid.
    package let isFromCache: Bool

    init(_ status: DownloadStatus, tags: [String], entry: Entry? = nil, isFromCache: Bool = false) {
        self.status = status
        self.tags = tags
        self.entry = entry
        self.isFromCache = isFromCache
    }
}

extension Event.Kind {
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
