import DiskCache
import HTTPTypes
import Primitives

/// A caller's request for a download, from `POST /download`.
package struct DownloadRequest: Sendable {
    package var url: CanonicalURL
    /// The parameters as given, a JSON object; `nil` without parameters. Stored only to show them to callers.
    package var params: JSON?
    /// Request fields for the origin. Requests with different fields have different entries.
    package var fields: HTTPFields
    /// The time for which the entry stays fresh; `nil` leaves it to the origin, or else to the default.
    package var ttl: Duration?
    /// Whether a hit renews the expiry date. Default: no.
    package var updatesExpiry = false
    /// Whether the origin is asked although the entry is fresh. Default: no.
    package var refresh = false
    /// The time after expiry in which a stale entry is served at once, and refreshed in the background; `nil`: none.
    package var staleWhileRevalidate: Duration?
    /// The time after expiry in which a stale entry may be served when the origin fails; `nil`: none.
    package var staleIfError: Duration?
    /// Tags that the entry gets beside its existing tags.
    package var tags: Set<String> = []
    /// Whether the entry is pinned; `nil` leaves it unchanged.
    package var pinned: Bool?

    package init(url: CanonicalURL, params: JSON? = nil, fields: HTTPFields = [:]) {
        self.url = url
        self.params = params
        self.fields = fields
    }

    /// Whether the body stays in the origin's content codings, because the caller sends `Accept-Encoding`.
    var keepsCodings: Bool { fields.contains(.acceptEncoding) }

    var wishes: EntryWishes {
        get {
            EntryWishes(
                tags: tags, staleAllowance: max(staleWhileRevalidate ?? .zero, staleIfError ?? .zero), pinned: pinned)
        }
        set { (tags, staleIfError, pinned) = (newValue.tags, newValue.staleAllowance, newValue.pinned) }
    }

    /// Compares the values from which the ``key`` is made, because different values may have the same MD5.
    func isSameResource(as other: DownloadRequest) -> Bool {
        url == other.url && fields == other.fields
    }

    package var key: CacheKey {
        guard !fields.isEmpty else { return .url(canonical: url.string) }
        return .url(canonical: url.string, requestFields: fields.map { ($0.name.canonicalName, $0.value) })
    }
}

/// The tags, stale allowance and pin that the callers of a download ask for, united over all callers.
struct EntryWishes: Sendable {
    var tags: Set<String> = []
    /// The time after the expiry for which the entry may be served stale.
    var staleAllowance: Duration = .zero
    /// `nil`: the pin stays as it is. A caller that pins prevails over a caller that unpins.
    var pinned: Bool?

    mutating func formUnion(_ other: EntryWishes) {
        tags.formUnion(other.tags)
        staleAllowance = max(staleAllowance, other.staleAllowance)
        if let pinned = other.pinned { self.pinned = pinned || self.pinned == true }
    }

    func areFulfilled(by entry: Entry) -> Bool {
        tags.isSubset(of: entry.tags) && staleAllowance <= entry.staleAllowance
            && (pinned == nil || pinned == entry.pinned)
    }
}

package enum DownloadOutcome: String, Sendable, CaseIterable {
    /// Answered from the cache with a fresh entry, without asking the origin.
    case cached
    case downloaded
    /// The origin confirmed the held entry (304).
    case revalidated
    /// Answered by a download that was already running for another caller.
    case joined
    /// Answered from the cache with a stale entry, as the request allowed.
    case stale
}

package struct DownloadResult: Sendable {
    package var outcome: DownloadOutcome
    package var entry: Entry
    /// Whether the cache got a body, an expiry date from the origin, tags or a pin. A slide does not count.
    package var isChange = false
}

package struct DownloadStatus: Sendable {
    package enum State: String, Sendable, CaseIterable {
        case running, succeeded, failed, cancelled
    }

    package var key: String
    package var url: String
    package var state: State
    /// The bytes of the body received so far, after decoding.
    package var receivedBytes: Int64
    /// The length of the whole body, in bytes; `nil` when the origin did not state it.
    package var totalBytes: Int64?
    /// The average speed since the start.
    package var bytesPerSecond: Double
    package var waiters: Int
    package var startDate: Timestamp
    /// The time of the end; `nil` while the download runs.
    package var endDate: Timestamp?
    /// The ``Entry/version`` of the entry that the download made; `nil` unless it succeeded. The entry itself is only
    /// in the cache: it may be changed, replaced or removed at any time. See ``DownloadManager/entry(of:)``.
    package var entryVersion: Int64?
    /// The reason for the failure; `nil` unless the download failed.
    package var error: DownloadError?
}
