/// How bodies are kept. The index stores each body's path, so what was written with one layout is read with the other.
public enum Layout: String, Hashable, Sendable, CaseIterable {
    /// By MD5: small bodies in the slab, larger ones as `ab/cd/<md5>`; see ``HashedPath``.
    case hashed
    /// Every body a file in a tree that mirrors the URL; see ``ReadablePath``.
    case readable

    /// Where the body of an entry goes, relative to the namespace's directory, when nothing else is there.
    ///
    /// - Parameter url: the entry's canonical URL; `nil` when it has none, so that its key is a caller's.
    public func path(for key: CacheKey, url: String?) -> String {
        switch self {
        case .hashed: HashedPath.path(for: key)
        case .readable: url.map { ReadablePath.path(forURL: $0, key: key) } ?? ReadablePath.path(forData: key)
        }
    }
}
