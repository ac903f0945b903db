import Primitives

/// What becomes of an answer.
public enum StorageDecision: Hashable, Sendable {
    /// It is kept, once its body is complete.
    case store(StoredResponse)
    /// It goes to the client and is not kept.
    case pass(PassReason)
}

/// Why an answer is not kept, by the rules of HTTP or because the cache cannot; the text is for the detail of
/// Cache-Status (RFC 9211 §2.8).
public enum PassReason: String, Hashable, Sendable {
    /// The request or the answer says so (RFC 9111 §5.2.1.5, §5.2.2.5).
    case noStore = "no-store"
    /// It is for one user (RFC 9111 §5.2.2.7).
    case `private`
    /// It answers a request with Authorization, and nothing says that others may have it (RFC 9111 §3.5).
    case authorization
    /// The connection that it came over is authenticated, or is being authenticated (``ConnectionCredentials``): it is
    /// for one client, whatever its fields say.
    case connectionAuthentication = "connection-authentication"
    /// `Vary: *`, or a Vary that cannot be read: no request can be known to select it (RFC 9111 §4.1).
    case varyAny = "vary-any"
    /// It is stale at once, cannot be validated and may not be served stale: there is nothing to keep it for.
    case noFreshness = "no-freshness"
    /// It sets a cookie, which is for one client, and the origin does not state for how long others may have it
    /// (RFC 9111 §7.3).
    case setCookie = "set-cookie"
    /// The method's answers are not kept (RFC 9110 §9.2.3, §9.3.3).
    case method
    /// The status says something about this request only, or must not be kept (RFC 9110 §15.4.5, §15.5.13, §15.5.17;
    /// RFC 6585).
    case status
    /// `must-understand` beside a status that is not understood (RFC 9111 §5.2.2.3).
    case mustUnderstand = "must-understand"
    /// A 206 that does not say which bytes it has, has several ranges, or has not as many bytes as its range
    /// (RFC 9110 §15.3.7).
    case partial
    /// A 206 that no other part could be told to belong to (RFC 9111 §3.4).
    case partialWithoutStrongValidator = "partial-without-strong-validator"
    /// It says that its body is longer, or its head is, than what the cache takes. Not ``StoragePolicy``'s to say.
    case tooLarge = "too-large"
    /// The cache, or its disk, has no room for it, whatever made way. Not ``StoragePolicy``'s to say.
    case noRoom = "no-room"
}
