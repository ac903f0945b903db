extension Layout {
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
