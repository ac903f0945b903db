/// Why a request went to the origin, in the words of Cache-Status (RFC 9211 §2.2).
public enum ForwardReason: String, Hashable, Sendable {
    /// The method always goes to the origin.
    case method
    /// There is nothing for the URL.
    case uriMiss = "uri-miss"
    /// There is something for the URL, but for other request fields (Vary).
    case varyMiss = "vary-miss"
    /// There is something, but not for this caller.
    case miss
    /// There is something fresh, but the request does not accept it.
    case request
    /// There is something, but it is stale or must be validated.
    case stale
    /// There is a part, and more is wanted.
    case partial
}
