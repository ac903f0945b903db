import DiskCache
import Primitives

/// Something that has happened, for those who listen.
///
/// The path of a hit knows nothing of events: it is told of what is stored and what goes, and of downloads.
public struct Event: Sendable {
    /// What can happen, as `GET /events` calls it.
    public enum Kind: String, Hashable, Sendable, CaseIterable {
        /// A download begins.
        case downloadStarted = "download.started"
        /// More of a download has come.
        case downloadProgress = "download.progress"
        /// A download has ended well, or was answered from the cache.
        case downloadSucceeded = "download.succeeded"
        /// A download has failed or was cancelled.
        case downloadFailed = "download.failed"
        /// A body was stored.
        case entryStored = "entry.stored"
        /// An entry that had expired was removed.
        case entryExpired = "entry.expired"
        /// Somebody removed an entry.
        case entryRemoved = "entry.removed"
        /// An entry went because room was needed.
        case entryEvicted = "entry.evicted"
        /// What a listener asked for is not all there: it should read anew what it wants to know.
        case reset
    }

    /// What it happened to.
    public enum Subject: Sendable {
        /// A download.
        case download(DownloadReport)
        /// An entry, or several.
        case entries(EntryChange.Subject)
        /// What the listener knows.
        case listener(ResetReason)
    }

    /// Why a listener must begin anew.
    public enum ResetReason: String, Sendable {
        /// The server was started since.
        case restart
        /// More has happened since than is remembered.
        case gap
    }

    /// What happened.
    public let kind: Kind
    /// When it was noted.
    public let time: Timestamp
    /// The name of the namespace that it happened in; `nil` for a ``Kind/reset``.
    public let namespace: String?
    /// What it happened to.
    public let subject: Subject

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

/// A download as an event tells of it.
public struct DownloadReport: Sendable {
    /// Where it is.
    public let status: DownloadStatus
    /// The labels that its entry has or will have, sorted.
    public let tags: [String]
    /// What it made or found, as that was then; `nil` unless it ended well.
    public let entry: Entry?
    /// Whether the body was in the cache already: nobody asked the origin, or it said that the body is still right.
    public let isFromCache: Bool

    init(_ status: DownloadStatus, tags: [String], entry: Entry? = nil, isFromCache: Bool = false) {
        self.status = status
        self.tags = tags
        self.entry = entry
        self.isFromCache = isFromCache
    }
}

extension Event.Kind {
    /// What becomes of entries.
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
    /// About how many bytes it takes, with the text that is made of it.
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
