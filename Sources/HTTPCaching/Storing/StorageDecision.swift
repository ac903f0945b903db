import Primitives

package enum StorageDecision: Hashable, Sendable {
    /// As soon as the body is complete.
    case store(StoredResponse)
    case pass(PassReason)
}

/// A rule of HTTP, or a limit of the cache. The raw value is the detail of Cache-Status (RFC 9211 §2.8).
package enum PassReason: String, Hashable, Sendable {
    /// The request or the answer has `no-store` (RFC 9111 §5.2.1.5, §5.2.2.5).
    case noStore = "no-store"
    /// The answer is meant for a single user (RFC 9111 §5.2.2.7).
    case `private`
    /// The request had Authorization, and the answer does not permit shared use (RFC 9111 §3.5).
    case authorization
    /// The connection is authenticated, or is being so (``ConnectionCredentials``): the answer is for a single client.
    case connectionAuthentication = "connection-authentication"
    /// The answer has `Vary: *` or an unreadable Vary, so no request can be known to select it (RFC 9111 §4.1).
    case varyAny = "vary-any"
    /// The answer is stale at once, cannot be validated and must not be served stale: a copy would never be used.
    case noFreshness = "no-freshness"
    /// A cookie is meant for a single client, and the origin states no lifetime for shared use (RFC 9111 §7.3).
    case setCookie = "set-cookie"
    /// Answers to this method are not stored (RFC 9110 §9.2.3, §9.3.3).
    case method
    /// The status is specific to this request, or must not be stored (RFC 9110 §15.4.5, §15.5.13, §15.5.17; RFC 6585).
    case status
    /// The answer has `must-understand` and a status that Larder does not understand (RFC 9111 §5.2.2.3).
    case mustUnderstand = "must-understand"
    /// A 206 without a single valid Content-Range, for example with several ranges, or with a Content-Length that
    /// differs from the length of the range (RFC 9110 §15.3.7).
    case partial
    /// A 206 without a strong validator cannot be combined with other parts (RFC 9111 §3.4).
    case partialWithoutStrongValidator = "partial-without-strong-validator"
    /// The declared length or the head exceeds a limit of the cache. ``StoragePolicy`` never returns this reason.
    case tooLarge = "too-large"
    /// The cache or its disk has no room, even after eviction. ``StoragePolicy`` never returns this reason.
    case noRoom = "no-room"
}
