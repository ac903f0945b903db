import DiskCache
import HTTPTypes
import Primitives

/// What a caller asks of `POST /download`.
public struct DownloadRequest: Sendable {
    /// The URL, with the parameters in its query.
    public var url: CanonicalURL
    /// The parameters as they were given, a JSON object; `nil` without any. Kept for the caller to see, nothing else.
    public var params: JSON?
    /// Fields for the origin, which make an entry of their own.
    public var fields: HTTPFields
    /// How long the entry stays fresh; `nil` leaves it to the origin, else to the default.
    public var ttl: Duration?
    /// Whether a hit starts the time anew. Default: no.
    public var updatesExpiry = false
    /// Whether the origin is asked although the entry is fresh. Default: no.
    public var refresh = false
    /// For how long after its expiry an entry may still be answered at once, and refreshed behind. Default: not.
    public var staleWhileRevalidate: Duration?
    /// For how long after its expiry an entry may be answered when the origin fails. Default: not.
    public var staleIfError: Duration?
    /// Tags that the entry gets beside those that it has.
    public var tags: Set<String> = []
    /// Whether the entry is pinned; `nil` leaves it as it is.
    public var pinned: Bool?

    /// A request for a URL, with everything else at its default.
    public init(url: CanonicalURL, params: JSON? = nil, fields: HTTPFields = [:]) {
        self.url = url
        self.params = params
        self.fields = fields
    }

    /// Whether the body is kept as the origin sends it, in its content codings: a caller who asks for codings wants
    /// that.
    var keepsCodings: Bool { fields.contains(.acceptEncoding) }

    /// Whether the origin would be asked the same: what the ``key`` is made of, without the chance of a collision.
    func isSameResource(as other: DownloadRequest) -> Bool {
        url == other.url && fields == other.fields
    }

    /// The key of the entry that answers it.
    public var key: CacheKey {
        guard !fields.isEmpty else { return .url(canonical: url.string) }
        return .url(canonical: url.string, requestFields: fields.map { ($0.name.canonicalName, $0.value) })
    }
}
