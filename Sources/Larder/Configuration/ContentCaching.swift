/// The time for which a cache in front of the server, such as a browser's cache, may reuse a body from the server.
package enum ContentCaching: String, Hashable, Sendable, CaseIterable {
    /// Every reuse of a copy is revalidated by ETag (`Cache-Control: no-cache`, RFC 9111 §5.2.2.4). A purge, a new body
    /// and a changed ttl have an immediate effect.
    case revalidate
    /// A copy is used until the entry expires (`max-age`, §5.2.2.1). The server is not asked before that time, so a
    /// purge does not reach the copy. A stale entry is treated as with ``revalidate``.
    case untilExpiry
}
