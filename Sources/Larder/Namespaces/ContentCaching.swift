/// For how long caches in front of the server, a browser's own too, may hand out a body that they have from it.
public enum ContentCaching: String, Hashable, Sendable, CaseIterable {
    /// A copy is revalidated by its ETag each time (`Cache-Control: no-cache`, RFC 9111 §5.2.2.4): a purge, a new body
    /// and a changed ttl are seen at once.
    case revalidate
    /// A copy is used until the entry expires (`max-age`, §5.2.2.1): the server is not asked meanwhile, so a purge does
    /// not reach the copy. An entry that is stale already is as for ``revalidate``.
    case untilExpiry
}
