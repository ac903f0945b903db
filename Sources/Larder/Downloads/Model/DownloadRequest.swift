import DiskCache
import HTTPTypes
import Primitives

/// A caller's request for a download, from `POST /download`.
package struct DownloadRequest: Sendable {
    /// The URL, with the parameters in its query.
    package var url: CanonicalURL
    /// The parameters as given, a JSON object; `nil` without parameters. Kept only for callers to see.
    package var params: JSON?
    /// Request fields for the origin. Requests with different fields have different entries.
    package var fields: HTTPFields
    /// The time for which the entry stays fresh; `nil` leaves it to the origin, or else to the default.
    package var ttl: Duration?
    /// Whether a hit slides the expiry. Default: no.
    package var updatesExpiry = false
    /// Whether the origin is asked although the entry is fresh. Default: no.
    package var refresh = false
    /// The time after its expiry in which an entry is still served at once, and refreshed behind the answer. `nil`, the
    /// default: such an entry is not served.
    package var staleWhileRevalidate: Duration?
    /// The time after its expiry in which an entry may be served when the origin fails. `nil`, the default: such an
    /// entry is not served.
    package var staleIfError: Duration?
    /// Tags that the entry gets beside its existing tags.
    package var tags: Set<String> = []
    /// Whether the entry is pinned; `nil` leaves it unchanged.
    package var pinned: Bool?

    /// Creates a request for a URL; all other properties have their defaults.
    package init(url: CanonicalURL, params: JSON? = nil, fields: HTTPFields = [:]) {
        self.url = url
        self.params = params
        self.fields = fields
    }

    /// Whether the body is kept in the content codings in which the origin sends it. A caller that sends
    /// `Accept-Encoding` wants that.
    var keepsCodings: Bool { fields.contains(.acceptEncoding) }

    /// Whether the origin would get the same request. Compares the values from which the ``key`` is made, so MD5
    /// collisions have no effect.
    func isSameResource(as other: DownloadRequest) -> Bool {
        url == other.url && fields == other.fields
    }

    /// The key of the entry that answers the request.
    package var key: CacheKey {
        guard !fields.isEmpty else { return .url(canonical: url.string) }
        return .url(canonical: url.string, requestFields: fields.map { ($0.name.canonicalName, $0.value) })
    }
}
