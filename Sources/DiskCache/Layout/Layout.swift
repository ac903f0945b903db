/// The way in which bodies are kept on disk. The index stores the path of each body, so a body that was written with
/// either layout can be read with the other.
package enum Layout: String, Hashable, Sendable, CaseIterable {
    /// By MD5: small bodies in the slab, larger bodies as files `ab/cd/<md5>`; see ``HashedPath``.
    case hashed
    /// Every body is a file in a tree that mirrors the URL; see ``ReadablePath``.
    case readable

    /// Returns the path of an entry's body, relative to the namespace's directory, for the case that no other file
    /// occupies it.
    ///
    /// - Parameter url: the entry's canonical URL; `nil` for an entry under a caller's own key.
    package func path(for key: CacheKey, url: String?) -> String {
        switch self {
        case .hashed: HashedPath.path(for: key)
        case .readable: url.map { ReadablePath.path(forURL: $0, key: key) } ?? ReadablePath.path(forData: key)
        }
    }
}
