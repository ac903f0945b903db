/// The raw value is the parameter of Cache-Status (RFC 9211 §2.2).
package enum ForwardReason: String, Hashable, Sendable {
    case method
    case uriMiss = "uri-miss"
    /// Responses are stored for the URL, but the request does not select any of them (Vary).
    case varyMiss = "vary-miss"
    /// A response is stored, but this caller may not use it.
    case miss
    /// A fresh response is stored, but the request does not accept it.
    case request
    /// A response is stored, but it is stale or must be validated.
    case stale
    /// A part is stored, but the request needs more bytes.
    case partial
}
