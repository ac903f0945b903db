import Origin
import Primitives

/// A host's wish for no requests for some time. After a redirect it is the wish of the host that answered, and not of
/// the host of the first URL.
package struct HostWish: Hashable, Sendable {
    /// As ``OriginRequest/origin``.
    let origin: String
    let time: Duration

    /// The host as in a canonical URL, with the port unless it is the default; `nil` if ``origin`` is no origin.
    var host: String? { (try? CanonicalURL(origin + "/"))?.authorityText }

    init(origin: String, time: Duration) {
        self.origin = origin
        self.time = time
    }

    /// The wish in an answer; `nil`: other requests may go on. 429 is about the client and not about one resource
    /// (RFC 6585 §4), and 503 is about the server (RFC 9110 §15.6.4).
    init?(_ head: OriginHead, at now: Timestamp) {
        guard let origin = head.origin else { return nil }
        let time = head.retryAfter(now: now).map(Duration.seconds) ?? (head.status == 429 ? Self.defaultTime : nil)
        guard let time else { return nil }
        self.init(origin: origin, time: time)
    }

    /// After a 429 without `Retry-After`.
    private static let defaultTime: Duration = .seconds(60)
}
