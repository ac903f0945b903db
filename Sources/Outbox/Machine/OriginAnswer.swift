import Primitives

/// The answer of an origin to a GET of the outbox.
///
/// A 304 never gets here: the shell replaces it by the response that it confirms. The shell stores a usable answer as
/// the remote version in the cache before it reports the answer, if other readers may get it.
package struct ReadAnswer: Hashable, Sendable {
    package var status: Int
    /// `nil` when the body is longer than ``OutboxLimits/changeBytes``.
    package var body: [UInt8]?
    package var mark: ReadMark
    /// Whether the cache has the answer as the remote version.
    package var isStored: Bool
    /// The target of a redirect as an absolute URL; `nil` without a valid `Location`.
    package var location: CanonicalURL?
    /// The time that the origin wants to be left alone, from `Retry-After` (RFC 9110 §10.2.3).
    package var retryAfter: Duration?

    package init(
        status: Int, body: [UInt8]?, mark: ReadMark, isStored: Bool = false, location: CanonicalURL? = nil,
        retryAfter: Duration? = nil
    ) {
        self.status = status
        self.body = body
        self.mark = mark
        self.isStored = isStored
        self.location = location
        self.retryAfter = retryAfter
    }
}

/// The answer of an origin to the request of a change.
package struct SendAnswer: Hashable, Sendable {
    package var status: Int
    package var etag: String?
    /// As ``ReadAnswer/location``.
    package var location: CanonicalURL?
    /// As ``ReadAnswer/retryAfter``.
    package var retryAfter: Duration?

    package init(
        status: Int, etag: String? = nil, location: CanonicalURL? = nil, retryAfter: Duration? = nil
    ) {
        self.status = status
        self.etag = etag
        self.location = location
        self.retryAfter = retryAfter
    }
}

/// The meaning of the status of an answer to the request of a change.
package enum SendMeaning: Equatable, Sendable {
    case applied
    case notApplied
    /// The effect may have happened: the server may have failed after it, or an earlier copy holds a lock.
    case unknown
    /// The request does not fit the state of the resource.
    case stateConflict
    case credential
    case gone
    case redirect
    case rejected

    package init(status: Int) {
        self =
            switch status {
            case 200...299: .applied
            case 429: .notApplied
            case 501: .rejected
            case 408, 423, 425, 500...599: .unknown
            case 409, 412, 428: .stateConflict
            case 401, 403: .credential
            case 404, 410: .gone
            case 307, 308: .redirect
            case 300...499: .rejected
            default: .unknown
            }
    }
}

/// The meaning of the status of an answer to a GET.
package enum ReadMeaning: Equatable, Sendable {
    case present
    case absent
    case credential
    case redirect
    case later
    /// No repetition of the GET will reveal the version.
    case unreadable

    package init(status: Int) {
        self =
            switch status {
            case 200, 203, 204: .present
            case 404, 410: .absent
            case 401, 403: .credential
            case 307, 308: .redirect
            case 501: .unreadable
            case 408, 423, 425, 429, 500...599: .later
            case 200...499: .unreadable
            default: .later
            }
    }
}
